"""What every story needs: characters, chance, openings, meetings, endings.

Knows no plots (`plots.py`) and no model; the only state is a story's own random generator.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from . import words


@dataclass(frozen=True, slots=True)
class Who:
    """Somebody in a story, with the words that a sentence needs."""

    name: str
    kind: str
    home: str
    food: str
    trait: str
    female: bool

    @property
    def he(self) -> str:
        return "she" if self.female else "he"

    @property
    def He(self) -> str:
        return self.he.capitalize()

    @property
    def him(self) -> str:
        return "her" if self.female else "him"

    @property
    def his(self) -> str:
        return "her" if self.female else "his"

    @property
    def His(self) -> str:
        return self.his.capitalize()

    @property
    def full(self) -> str:
        """Mira the fox"""
        return f"{self.name} the {self.kind}"

    @property
    def about(self) -> str:
        """The sentence that explains the trait."""
        return words.TRAITS[self.trait].format(who=self.name, he=self.he, He=self.He, him=self.him, his=self.his)


def a(words_after: str) -> str:
    """With its indefinite article: an owl, a fox, a young unicorn."""
    return ("an " if words_after[0] in "aeiou" else "a ") + words_after


def cap(text: str) -> str:
    return text[0].upper() + text[1:]


def listed(items) -> str:
    """a, b, and c"""
    items = list(items)
    return items[0] if len(items) == 1 else " and ".join(items) if len(items) == 2 else ", ".join(items[:-1]) + ", and " + items[-1]


def turned(items, by: int) -> list:
    """The same items from another beginning."""
    items = list(items)
    by %= len(items)
    return items[by:] + items[:by]


class Story:
    """The chances and the cast of one story. Nobody appears twice: names and kinds are drawn without repetition."""

    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.taken: set[str] = set()
        self.met = 0
        self.hero = self.someone()
        self.friend = self.someone(animal=True if self.hero.kind in words.PEOPLE and self.likely(0.6) else None)
        self.land = self.some(words.LANDS)
        self.now = "One day"

    # -- chance --

    def some(self, options):
        """One of the options, the first ones more often (weights 1 / (rank + 2))."""
        options = list(options)
        return self.chance.choices(options, [1 / (rank + 2) for rank in range(len(options))])[0]

    def say(self, *options: str) -> str:
        """One of several ways to say the same thing; the first about twice as often as the third."""
        return self.some(options)

    def any(self, options):
        """One of the options, all alike."""
        return self.chance.choice(list(options))

    def favourite(self, options, probability: float):
        """The first one this often; otherwise some or any of them."""
        return options[0] if self.likely(probability) else self.some(options) if self.likely(0.5) else self.any(options)

    def few(self, options, count: int) -> list:
        """`count` different ones. Each place of the list has its own favourites: the likeliest list repeats nothing."""
        options, chosen = list(options), []
        for place in range(count):
            left = [option for option in turned(options, place * len(options) // count) if option not in chosen]
            chosen.append(self.favourite(left, 0.25))
        return chosen

    def likely(self, probability: float) -> bool:
        return self.chance.random() < probability

    def someone(self, animal: bool | None = None) -> Who:
        """A new character; animal: only an animal, only a person, or (None) mostly an animal.

        The first, the second and so on have favourites of their own among names, kinds and traits.
        """
        turn, self.met = self.met, self.met + 1
        if animal is None:
            animal = self.likely(0.65)
        kinds = [kind for kind in turned(words.ANIMALS if animal else words.PEOPLE, 4 * turn) if kind not in self.taken]
        kind = self.favourite(kinds, 0.2)
        home, food = (words.ANIMALS if animal else words.PEOPLE)[kind][:2]
        sex = "" if animal else words.PEOPLE[kind][2]
        female = sex == "f" if sex else self.likely(0.5)
        names = [name for name in turned(words.GIRLS if female else words.BOYS, 6 * turn) if name not in self.taken]
        name = self.favourite(names, 0.35)
        fitting = [trait for trait in turned(words.TRAITS, 3 * turn) if not (trait == "lonely" and self.taken)]  # only the hero, who is drawn first
        trait = self.favourite(fitting, 0.2)
        self.taken |= {kind, name}
        return Who(name, kind, home, food, trait, female)

    # -- paragraphs and sentences --

    def opening(self) -> str:
        """Who it is about, where, and what {he} is like."""
        h = self.hero
        kind = h.kind if "little" in h.kind or "young" in h.kind or "small" in h.kind or "old" in h.kind else f"{h.trait} {h.kind}"
        first = self.say(
            f"Once upon a time, there was {a(kind)} named {h.name}. {h.He} lived {h.home}.",
            f"Once upon a time, {a(kind)} named {h.name} lived {h.home}.",
            f"Once upon a time there was {a(kind)} who lived {h.home}. {h.His} name was {h.name}.",
            f"Long ago, in {self.land}, there lived {a(kind)} named {h.name}. {h.His} home was {h.home}.",
            f"There once was {a(kind)} named {h.name}, who lived {h.home}.",
            f"In {self.land}, there lived {a(kind)} named {h.name}.",
            f"{h.full} lived {h.home}.",
            f"{h.name} was {a(kind)} who lived {h.home}.",
        )
        known = f"{h.trait} {h.kind}" == kind
        trait = h.about if known else self.say(f"{h.name} was very {h.trait}. {h.about}", f"Everyone knew that {h.name} was {h.trait}. {h.about}", h.about)
        parts = [first, trait]
        if self.likely(0.5):
            parts.append(self.say(
                f"More than anything else, {h.name} liked to eat {h.food}.",
                f"{h.His} favourite food was {h.food}.",
                f"Every morning, {h.he} had {h.food} for breakfast.",
            ))
        return " ".join(parts)

    def friendship(self) -> str:
        """How the hero and the friend belong together."""
        h, f = self.hero, self.friend
        return self.say(
            f"{h.name} had a friend, {f.full}. {f.name} was {f.trait}. {f.about} They met every day and told each other everything.",
            f"{h.His} best friend was {a(f.kind)} named {f.name}, who lived {f.home}.",
            f"{f.full} lived {f.home}. {h.name} and {f.name} were the best of friends.",
            f"{h.name} had only one friend, {a(f.kind)} named {f.name}. {f.about}",
        )

    def time(self) -> str:
        """A phrase that begins a scene: One morning"""
        self.now = self.some(words.TIMES)
        return self.now

    def weather(self) -> str:
        """A sentence that fits the time of the scene, with a space after it, or nothing."""
        return self.some(words.TIMES[self.now]) + " " if self.likely(0.4) else ""

    def look(self, place: str) -> str:
        """A sentence about a place, sometimes a list of what is there: an open context."""
        if place == "the market" and self.likely(0.7):
            return f"{words.PLACES[place]} There were {listed(self.few(words.GOODS, self.any((3, 4, 5))))}."
        if self.likely(0.25):
            one, two, three = self.few(words.ADJECTIVES, 3)
            return f"{words.PLACES[place]} Everything looked {one}, {two}, and {three}."
        return words.PLACES[place]

    def places(self, count: int) -> list[str]:
        return self.few(words.PLACES, count)

    def went(self, who: Who, place: str) -> str:
        """A sentence that can follow a phrase of time, and one about the place."""
        return self.say(f"{who.name} went to {place}.", f"{who.name} walked until {who.he} came to {place}.",
                        f"{who.name} set off for {place}.", f"{who.name} ran all the way to {place}.") + " " + self.look(place)

    def meeting(self, who: Who, other: Who) -> str:
        return self.say(
            f"There {who.he} met {a(other.kind)} named {other.name}.",
            f"There sat {other.full}.",
            f"{a(other.kind).capitalize()} was standing there. {other.His} name was {other.name}.",
        )

    def feast(self, *guests: Who) -> str:
        """A meal for the hero and the guests."""
        h, other = self.hero, guests[0]
        return self.say(
            f"That evening, {listed(w.name for w in (h, *guests))} sat down together and ate {h.food}.",
            f"They went home and ate {h.food} until they could eat no more.",
            f"{other.name} brought {other.food}, {h.name} brought {h.food}, and there was enough for everyone.",
        )

    def ending(self) -> str:
        h, f = self.hero, self.friend
        last = self.say(
            f"And from that day on, {h.name} and {f.name} were never lonely again.",
            "And they all lived happily ever after.",
            f"That night, {h.name} lay in bed and smiled. It had been a good day.",
            f"And if you walk past {h.his} home today, you can still hear {h.him} laugh.",
            f"And {h.name} never forgot what {h.he} had learned: {self.lowered(self.some(words.MORALS))}",
            f"{self.some(words.MORALS)} Nobody knew it better than {h.name}.",
        )
        return last + (" The end." if self.likely(0.6) else "")

    @staticmethod
    def lowered(sentence: str) -> str:
        return sentence[0].lower() + sentence[1:]
