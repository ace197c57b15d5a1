"""Pictures of a table (the extra ``render``): SVG text and pixels, from the plain data of ``Game.picture``."""

from card_envs.render.svg import to_rgb, to_svg

__all__ = ["to_rgb", "to_svg"]
