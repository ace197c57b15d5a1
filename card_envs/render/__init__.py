"""Pictures of a table as SVG or pixels, from the plain data of ``Game.picture``. They need the extra ``render``."""

from card_envs.render.svg import to_rgb, to_svg

__all__ = ["to_rgb", "to_svg"]
