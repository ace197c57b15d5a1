"""Who is better, and how sure are we: matches between players on duplicate deals."""

from card_envs.arena.duel import LISTS, Duel, Estimate, Matches, deal_list, duel, estimate, play_matches

__all__ = ["LISTS", "Duel", "Estimate", "Matches", "deal_list", "duel", "estimate", "play_matches"]
