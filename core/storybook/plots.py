"""The plots: each turns a cast into a story's paragraphs, the opening and the ending left out.

Every plot has something that repeats word for word (a question asked three times, a song, a list that grows, the
directions on a map) and something open (what is for sale, what is in the chest), so that a reader who
guesses the next words is sometimes sure of ten and sometimes of none.
"""

from __future__ import annotations

from . import words
from .scenes import Story, a, cap, listed


def lost_thing(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    thing, spot = f"{s.some(words.COLOURS)} {s.some(words.THINGS)}", s.some(words.SPOTS)
    others = [f, s.someone(), s.someone()]
    ask = s.say(f'"Have you seen my {thing}?"', f'"I have lost my {thing}. Have you seen it?"')
    look = s.some((f"under the bed, behind the door, and in the big box, but the {thing} was not there.",
                   f"in every corner and under every stone, but the {thing} was gone."))
    paragraphs = [f"{s.time()}, {h.name} could not find {h.his} {thing}. {h.He} looked {look}"]
    walkers = [h.name]
    for number, (other, place) in enumerate(zip(others, s.places(3))):
        who = s.went(h, place) if number == 0 else f"{listed(walkers)} walked on together and came to {place}. {s.look(place)}"
        met = s.meeting(h, other) if number == 0 else f"There they met {a(other.kind)} named {other.name}."
        if number < 2:
            reply = s.say(f'"No," said {other.name}, "but I will help you look for it."',
                            f'"No, I have not," said {other.name}. "But four eyes see more than two. I will come with you."')
        else:
            reply = f'"Yes," said {other.name}. "I saw your {thing} {spot}."'
        paragraphs.append(f"{who} {met} {ask} asked {h.name}. {reply}")
        walkers.append(other.name)
    paragraphs.append(s.say(
        f"They all ran to look. And there it was, {spot}: the {thing}! {h.name} was so happy that {h.he} danced.",
        f"They went to look, and {spot} they found the {thing}. {h.name} hugged them all, one after another.",
    ) + f' "Thank you, {others[0].name}! Thank you, {others[1].name}! Thank you, {others[2].name}!" {h.he} cried.')
    return f"The {thing.title()}", [*paragraphs, s.feast(*others)]


def great_vegetable(s: Story) -> tuple[str, list[str]]:
    h, plant = s.hero, s.some(words.VEGETABLES)
    size = s.some(("a house", "a cart", "a cow", "a church bell", "a haystack"))
    helpers = [s.friend, s.someone(), s.someone()]
    paragraphs = [
        f"In spring, {h.name} planted {a(plant)} seed. {s.weather()}The {plant} grew and grew, until it was as big as {size}. "
        f'"Now I will pull it out," said {h.name}.',
        f"{h.name} took hold of the {plant} and pulled. {h.He} pulled and pulled, but the {plant} would not come out.",
    ]
    line = f"{h.name} held on to the {plant}"
    before = h
    for number, other in enumerate(helpers):
        paragraphs_end = f"They pulled and pulled, but the {plant} would not come out."
        if number == 2:
            paragraphs_end = f"They pulled and pulled, and with a great pop, out came the {plant}!"
        line = f"{other.name} held on to {before.name}, " + line.replace(", and ", ", ")
        head, tail = line.rsplit(", ", 1)
        paragraphs.append(f"So {before.name} called {other.full}. {head}, and {tail}. {paragraphs_end}")
        before = other
    paragraphs.append(s.say(f"They all fell down in the grass and laughed. Then they cooked {plant} soup for the whole village.",
                            f"They made {plant} soup, {plant} pie, and {plant} cake, and everyone was invited.",
                            f"The {plant} was so big that they ate {plant} soup all winter."))
    return f"The Great {cap(plant)}", paragraphs


FEARS = (("the dark", "When the sun went down, {he} lit seven candles and pulled the blanket over {his} ears.", "the sun went down and it became dark"),
         ("thunder", "When a storm came, {he} crept under the table and held {his} ears.", "black clouds came, and the thunder rolled"),
         ("deep water", "When the others went swimming, {he} sat on the bank and said that {he} had a cold.", "they had to cross a lake, and the little boat began to rock"),
         ("high places", "When the others climbed trees, {he} stayed at the bottom and held the coats.", "they came to a narrow bridge, high above the river"),
         ("strangers", "When somebody knocked at the door, {he} did not open it.", "a big stranger in a long coat stood before them"))


def fear(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    what, habit, test = s.some(FEARS)
    song, place = s.some(words.SONGS), s.places(1)[0]
    return f"{h.name} and the Song", [
        f"There was only one thing that {h.name} was afraid of, and that was {what}. {habit.format(he=h.he, his=h.his)} {h.He} told nobody about it.",
        s.friendship() + f' {s.time()}, {f.name} asked, "Why are you so quiet, {h.name}?" "I am afraid of {what}," said {h.name} at last.',
        f'{f.name} did not laugh. "I know a song for that," said {f.name}. "When you are afraid, sing it with me: {song}." '
        f'And {h.name} sang, very softly, "{song}."',
        s.say(f"A few days later, {h.name} and {f.name} were on their way to {place} when {test}.",
              f"Not long after that, the two friends went to {place}. {s.look(place)} Suddenly, {test}.")
        + f" {cap(h.his)} knees shook. But then {h.he} remembered the song. {h.He} took a deep breath and sang, \"{song}.\"",
        s.say(f'"{song}," sang {f.name}, too. And step by step, the fear became smaller, until it was as small as a pea.',
              f"With every word, {h.name} became a little braver. When the song was over, {h.he} was not afraid of {what} any more."),
        f'"You did it!" cried {f.name}. "We did it," said {h.name}.',
    ]


def three_doors(s: Story) -> tuple[str, list[str]]:
    h = s.hero
    place = s.places(1)[0]
    colours = s.few(words.COLOURS[:8], 3)
    finds = s.few(words.TREASURE, 3)
    guard = s.someone(animal=True)
    paragraphs = [
        f"{s.time()}, {s.went(h, place)} "
        f"There {h.he} found a house that had not been there the day before. It had three doors: {a(colours[0] + ' door')}, "
        f"{a(colours[1] + ' door')}, and {a(colours[2] + ' door')}. Before the house sat {guard.full}.",
        f'"You may open every door," said {guard.name}, "but you may keep only one thing." {h.name} promised.',
    ]
    for colour, find in zip(colours, finds):
        said = s.some(('"How beautiful!"', '"Oh!"', '"What a wonder!"', '"That is strange,"', '"I have never seen that before,"'))
        paragraphs.append(f"{h.name} opened the {colour} door. Behind the {colour} door, {h.he} saw {find}. {said} said {h.name}.")
    choice = s.chance.randrange(3)
    all_three = " ".join(f"Behind the {colour} door {be(find)}." for colour, find in zip(colours, finds))
    paragraphs.append(f'"Which one do you choose?" asked {guard.name}. {h.name} thought for a long time. {all_three}')
    paragraphs.append(f'"I choose what is behind the {colours[choice]} door," said {h.name}, "because I can share it with my friend '
                      f'{s.friend.name}." "That is a good choice," said {guard.name}, and the house was gone. {h.name} ran home to '
                      f"{s.friend.name} and showed {s.friend.him} everything.")
    return "The House with Three Doors", paragraphs


def be(things: str) -> str:
    """there was a crown, there were shells"""
    return ("there was " if things.startswith(("a ", "an ")) and not things.startswith(("a hundred",)) else "there were ") + things


def riddle(s: Story) -> tuple[str, list[str]]:
    h, f, guard = s.hero, s.friend, s.someone()
    question, answer, wrong, other_wrong = s.some(words.RIDDLES)
    place = s.some(("the old bridge", "the castle", "the crossroads", "the mountain", "the garden"))
    goal = s.some(("to visit an aunt", "to buy flour", "to see the king", "to bring a letter to the queen", "to find a doctor"))
    return "The Riddle", [
        s.friendship() + f" {s.time()}, the two of them set out {goal}. {s.weather()}They walked until they came to {place}. {s.look(place)}",
        f'There stood {guard.full}. "Nobody may pass," said {guard.name}, "who cannot answer my riddle." "Then ask us," said {h.name}.',
        f'"Listen well," said {guard.name}. "{question}"',
        f'"{cap(wrong)}!" cried {f.name}. "No," said {guard.name}. "It is not {wrong}."',
        f'"{cap(other_wrong)}?" asked {h.name}. "No," said {guard.name}. "It is not {other_wrong}. You may guess one last time."',
        f"{h.name} sat down on a stone and thought. {h.He} said the riddle to {'her' if h.female else 'him'}self once more: \"{question}\" "
        + s.say(f'Then {h.he} jumped up. "I know it!" {h.he} cried. "It is {answer}!"', f'At last {h.he} smiled. "It is {answer}," {h.he} said.'),
        s.say(f'"{cap(answer)} it is," said {guard.name}, and let them pass. "Come back soon," {guard.he} added. "It is lonely here."',
              f'"It is {answer}!" laughed {guard.name}. "Nobody has ever guessed it before. You may pass."')
        + f" And so {h.name} and {f.name} went on {goal}.",
    ]


def garden_week(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    colour = s.some(words.COLOURS)
    work = s.few(("watered it", "pulled up the weeds", "sang to it", "built a little fence", "told it a story",
                  "chased the snails away", "gave it some more water", "sat beside it and waited", "put a warm blanket over it"), 5)
    days = []
    for day, what in zip(words.DAYS[1:6], work):
        then = s.some(("but nothing happened", "but nothing was to be seen", "and waited", "and hoped"))
        days.append(f"On {day}, {h.name} {what}, {then}.")
    return f"The {cap(colour)} Flower", [
        s.friendship() + f' {s.time()}, {f.name} gave {h.name} a tiny seed. "One day it will be a {colour} flower," said {f.name}.'.replace("a orange", "an orange"),
        f"On Monday, {h.name} planted the seed. " + " ".join(days),
        s.say(f'"It will never grow," said {h.name}. "Wait for Sunday," said {f.name}.', f'"Maybe it is only a stone," said {h.name}. "Be patient," said {f.name}.'),
        f"On Sunday, {h.name} got up before the sun. {s.weather()}And there, in the middle of the garden, stood {a(colour)} flower. "
        + s.say("It was the most beautiful flower in the world.", "It smelled of honey and rain.", f"It nodded in the wind, as if it wanted to say hello to {h.name}."),
        f'{h.name} ran to {f.name}. "It has opened!" {h.he} cried. "On Monday I planted it, and on Sunday it opened!"',
    ]
