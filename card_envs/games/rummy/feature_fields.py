"""What an action of Rummy does, in figures without seats, from what the seat to move knows.

The *next* player is the one after the seat to move, who may take what it discards. A card is *playable* if it is in a meld of
the hand or can be laid off, and *loose* if it is not. The *hand after the action* has the cards taken, lacks those laid or
discarded, and is unchanged by a draw, since nobody knows the card; what can be laid off then depends on the table as the
action leaves it.

The *nearness* of a card to melds is a sum over all melds of three that hold the card: of each, the product of the weights of
its other two cards. A run on the table that the card would fit after one more card counts as much as that card weighs. In
nearness to a hand, its cards weigh 1, and so do those that are left in a pile from which lower cards can be taken, but for the
card that is being discarded.

A card that a player *discarded*, *declined* or *took* is one about which that is the latest choice of the player in this deal
(R30). The player *before* is the one whose discard the seat to move may take.
"""

from card_envs.engine.game import FieldSpec, locate_fields
from card_envs.games.deck import DECK_SIZE, IN_SUIT
from card_envs.games.rummy.state import MAX_MELDS, MAX_PLAYERS

UNSEEN_WEIGHT = 0.15  # of an unseen card in nearness to the own hand
FAR = 0.25  # nearness of a loose card that is far from any meld; no sum of products of weights comes near it
LIMIT = 5.0

KINDS = 7
DRAW_KIND, TAKE_KIND, DISCARD_KIND, LAYOFF_KIND, SET_KIND, RUN_KIND, END_KIND = range(KINDS)

ACTION_FIELDS = (
    # the decision, the same for all its actions
    FieldSpec("players", (1,), "players at the table", float(MAX_PLAYERS)),
    FieldSpec("phase", (2,), "what is being decided: draw, play"),
    FieldSpec("options", (3,), "aces are low and high, lower cards of the pile can be taken, one meld a turn"),
    FieldSpec("scoring", (3,), "what a deal scores: positive, laid, negative"),
    FieldSpec("stock", (1,), "cards in the stock", float(DECK_SIZE)),
    FieldSpec("late", (1,), "how near the end of the stock is: players / (players + cards in the stock)"),
    FieldSpec("pile", (1,), "cards in the pile", float(DECK_SIZE)),
    FieldSpec("idle", (1,), "the share of the idle turns in a row that end the deal (R10)"),
    FieldSpec("melds", (1,), "melds on the table", float(MAX_MELDS)),
    FieldSpec("unseen_fits", (1,), "unseen cards that fit a meld on the table", 10.0, 0.0, 5.2),
    FieldSpec("hand_size", (1,), "cards in the own hand", 10.0, 0.0, 5.2),
    FieldSpec("hand_points", (1,), "points of the own hand", 50.0, 0.0, 8.0),
    FieldSpec("hand_loose", (1,), "loose cards in the own hand", 10.0, 0.0, 5.2),
    FieldSpec("hand_loose_points", (1,), "points of the loose cards in the own hand", 50.0, 0.0, 8.0),
    FieldSpec("hand_plays", (2,), "the own hand holds a meld, a card that can be laid off"),
    FieldSpec("has_laid", (2,), "who has laid cards in this deal: the seat to move, the next player"),
    FieldSpec("melded", (1,), "the seat to move has melded in this turn"),
    FieldSpec("next_size", (1,), "cards in the hand of the next player", 10.0, 0.0, 5.2),
    FieldSpec("next_inverse", (1,), "1 / that number"),
    FieldSpec("next_few", (2,), "the next player has one card, two cards"),
    FieldSpec("next_known", (1,), "cards known to be in the next player's hand", 10.0, 0.0, 5.2),
    FieldSpec("next_known_points", (1,), "the points of these", 50.0, 0.0, 8.0),
    FieldSpec("next_points", (1,), "expected points of the next player's hand", 50.0, 0.0, 8.0),
    FieldSpec("next_waiting", (1,), "those of the known cards that make melds with known or unseen ones", 10.0, 0.0, 5.2),
    FieldSpec("fewest_size", (1,), "cards in the smallest hand among the others", 10.0, 0.0, 5.2),
    FieldSpec("fewest_inverse", (1,), "1 / that number"),
    FieldSpec("fewest_few", (2,), "the smallest hand among the others has one card, two cards"),
    FieldSpec("next_past_size", (3,), "cards that the next player discarded, declined, took", 10.0, 0.0, 5.2),
    # the action
    FieldSpec("kind", (KINDS,), "what the action is: draw, take, discard, layoff, meld a set, meld a run, end"),
    FieldSpec("ends", (1,), "the deal is over: the last card leaves the hand, the stock is empty, or too many turns were idle"),
    FieldSpec("taken", (1,), "cards taken from the pile", 10.0, 0.0, 5.2),
    FieldSpec("laid", (1,), "cards laid", 4.0, 0.0, 3.25),
    FieldSpec("laid_points", (1,), "the points that they score", 30.0, 0.0, 3.4),
    FieldSpec("opens", (2,), "unseen cards, cards known in the next player's hand, that fit the table only now", 2.0),
    # its card, which is taken, discarded or laid off; zeros if there is none
    FieldSpec("rank", (IN_SUIT,), "the rank of the card: A … K"),
    FieldSpec("points", (1,), "the points of the card", 10.0, 0.0, 1.5),
    FieldSpec(
        "place", (4,), "the card is, in the hand with the cards taken: in a meld, playable, loose; it fits the table before"
    ),
    FieldSpec(
        "near", (3,), "nearness of the card to the rest of that hand, where an unseen card weighs 0.15, 0, 1", 3.0, 0.0, 2.7
    ),
    FieldSpec(
        "feed", (1,), "nearness to the next player's hand: an unseen card weighs the chance that it is there", 3.0, 0.0, 2.7
    ),
    FieldSpec(
        "feed_known", (2,),
        "nearness to the known cards of the next player, where an unseen card weighs 0, 1, and the pile does not count",
        3.0, 0.0, 2.7,
    ),
    FieldSpec(
        "next_mates", (3,), "cards known in the next player's hand: of the same rank, beside the card in its suit, one further",
        2.0, 0.0, 1.5,
    ),
    FieldSpec("unseen_mates", (3,), "unseen cards: of the same rank, beside the card in its suit, one further", 2.0, 0.0, 1.5),
    FieldSpec("next_choice", (2,), "the next player discarded the card, declined it"),
    FieldSpec(
        "next_past", (3, 3),
        "cards that the next player discarded, declined, took, and of each those of the same rank, beside the card in its suit,"
        " one further",
        2.0, 0.0, 1.5,
    ),
    FieldSpec("others_past", (3, 3), "the same of cards that any other player discarded, declined, took", 2.0, 0.0, 1.5),
    FieldSpec(
        "feed_wanted", (1,),
        "as feed, but unseen cards of the same rank as, or beside, one that the next player discarded or declined do not count",
        3.0, 0.0, 2.7,
    ),
    # the hand after the action
    FieldSpec("rest_size", (1,), "cards in the hand", 10.0, 0.0, 5.2),
    FieldSpec("rest_empty", (1,), "the hand is empty"),
    FieldSpec("rest_points", (1,), "points of the hand", 50.0, 0.0, 8.0),
    FieldSpec("rest_melds", (1,), "cards of the hand in melds", 10.0, 0.0, 5.2),
    FieldSpec("rest_playable", (1,), "playable cards of the hand", 10.0, 0.0, 5.2),
    FieldSpec("rest_fits", (1,), "cards of the hand that are in no meld but can be laid off", 5.0, 0.0, 10.4),
    FieldSpec("outs", (1,), "unseen cards that make a meld with two of the hand", 10.0, 0.0, 5.2),
    FieldSpec("outs_share", (1,), "the share of these in all unseen cards"),
    FieldSpec("loose", (1,), "loose cards of the hand", 10.0, 0.0, 5.2),
    FieldSpec("loose_few", (3,), "none, one, two are loose"),
    FieldSpec("loose_points", (1,), "points of the loose cards", 50.0, 0.0, 8.0),
    FieldSpec("loose_dearest", (1,), "the most points of a loose card", 10.0, 0.0, 1.5),
    FieldSpec("loose_spared", (1,), "points of the loose cards but that one", 50.0, 0.0, 8.0),
    FieldSpec("loose_outs", (1,), "unseen cards that make a meld with two loose cards", 10.0, 0.0, 5.2),
    FieldSpec("loose_outs_share", (1,), "the share of these in all unseen cards"),
    FieldSpec("loose_near", (1,), "nearness of the loose cards to the hand, where an unseen card weighs 0.15", 5.0, 0.0, LIMIT),
    FieldSpec("loose_far", (1,), "loose cards whose nearness is below a quarter", 5.0, 0.0, 10.4),
    FieldSpec("loose_far_points", (1,), "the points of these", 50.0, 0.0, 8.0),
    FieldSpec(
        "outs_offered", (1,),
        "those of the outs that are of the same rank as, or beside, a card that the player before discarded or declined",
        10.0, 0.0, 5.2,
    ),
    # the pile after the action, as far as the next player can reach it
    FieldSpec(
        "pile_offers", (1,),
        "cards that are in a meld of it and the next player's known cards, or fit the table as the action leaves it",
        5.0, 0.0, 10.4,
    ),
    FieldSpec("pile_offers_points", (1,), "the points of these", 50.0, 0.0, 8.0),
    # the player `best`
    FieldSpec(
        "appraisal", (1,),
        "what the player best finds the action worth by the measure that it has for its kind: draw and take, lay, discard",
        20.0, -LIMIT, LIMIT,
    ),
    FieldSpec("best", (1,), "the player best would choose the action"),
)  # fmt: skip
FIRST, _ = locate_fields(ACTION_FIELDS)
