"""More plots, in the manner of `plots.py`."""

from __future__ import annotations

from . import words
from .scenes import Story, a, cap, listed

# to wish for, what it is like, what is missing
WISHES = (
    ("fly like a bird", "rose higher than the tallest tree, and the river below looked like a silver ribbon", "But the clouds were cold, and there was nobody to talk to."),
    ("swim like a fish", "dived to the bottom of the sea, and saw gardens of red and yellow stones", "But the fish only opened and closed their mouths, and nobody said a word."),
    ("be as tall as a tower", "grew and grew, until the houses looked like toys", "But there was no chair to sit on, and no door to go through."),
    ("be very rich", "had a bag of gold that was never empty", "But everyone who knocked at the door wanted only the gold."),
    ("be as small as an ant", "walked under the flowers as if they were trees", "But every drop of rain was as big as a lake."),
    ("talk to the moon", "sat on the hill and talked to the moon all night", "But the moon slept all day, and so the days were long and quiet."),
    ("never sleep again", "stayed awake and saw the stars go by", "But at night everyone else was asleep, and it was very quiet."),
    ("have a castle", "had a castle with a hundred rooms", "But every room was empty, and every step made an echo."),
)
HELPERS = ("an old turtle with a silver shell", "a fairy as small as a thumb", "a fish with golden scales", "a star that had fallen from the sky",
           "a tree with a friendly face", "a white bird with a long tail", "an old man with a beard down to his knees")


def wish(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    what, joy, lack = s.some(WISHES)
    helper, spell, place = s.some(HELPERS), s.some(words.MAGIC), s.places(1)[0]
    short = helper.split(" ", 1)[1].split(" with ")[0].split(" as ")[0].split(" that ")[0]
    return f"{h.name}'s Wish", [
        s.say(f"But {h.name} had one great wish. {h.He} wanted to {what}.", f"There was only one thing that {h.name} wanted: to {what}."),
        s.friendship() + s.say(f' "Why do you want to {what}?" asked {f.name}. "Because it must be wonderful," said {h.name}.',
                               f' "I like you just as you are," said {f.name}. But {h.name} still wanted to {what}.'),
        f"{s.time()}, {s.went(h, place)} There {h.he} met {helper}. " +
        s.say(f'"I know what you wish for," said the {short}. "You want to {what}. Say these words three times: {spell}."',
              f'"You may have one wish," said the {short}. "I want to {what}," said {h.name}. "Then say three times: {spell}."'),
        f'So {h.name} closed {h.his} eyes and said, "{spell}. {spell}. {spell}." And at once the wish came true. {h.He} {joy}. {lack}',
        s.say(f'"I miss {f.name}," thought {h.name}.', f"{h.name} thought of {f.name}, and {h.his} heart became heavy.")
        + f' So {h.he} went back to {place} and said the words once more: "{spell}. {spell}. {spell}."',
        s.say(f"And everything was as it had been before. {f.name} came running down the road. \"There you are!\" cried {f.name}.",
              f"In the blink of an eye, {h.name} was {h.him}self again, and there stood {f.name}.")
        + s.say(f' "I do not want to {what} any more," said {h.name}. "I want to be here with you."', f' "I have everything that I need," said {h.name}.'),
    ]


# what, the boast, what happens to the rival, from where to where
CONTESTS = (
    ("a race", "the fastest", "fell into a ditch", "the harbour", "the castle"), ("a race", "the fastest", "ran into a tree", "the market", "the windmill"),
    ("a swimming race", "the fastest swimmer", "got caught in the reeds", "the old bridge", "the old mill"),
    ("a climbing contest", "the best climber", "got stuck between two rocks", "the meadow", "the top of the mountain"),
    ("a boat race", "the fastest rower", "hit a rock and lost an oar", "the harbour", "the little island"),
    ("a sledge race", "the fastest on the snow", "drove into a deep pile of snow", "the top of the hill", "the frozen lake"),
)


def contest(s: Story) -> tuple[str, list[str]]:
    h, f, rival = s.hero, s.friend, s.someone()
    what, best, trouble, start, goal = s.some(CONTESTS)
    prize = s.some(("a golden cup", "a cake as big as a wheel", "a silver bell", "a crown of flowers", "a basket of pears"))
    the_prize = "the " + prize.split(" ", 1)[1]
    boast = f'"I am {best} in the whole land," said {rival.name}. "Nobody can beat me."'
    return f"The Great {cap(what.split(' ', 1)[1])}", [
        f"{s.time()}, there was to be {what} from {start} to {goal}. The prize was {prize}. Everyone came to watch: "
        f"{listed('the ' + k for k in s.few([k for k in words.ANIMALS if k not in s.taken], 3))}.",
        f"{rival.full} came, too. {boast} {h.name} said nothing. {f.full} whispered, \"Just do your best.\"",
        '"One, two, three, go!" Off they went. ' +
        s.say(f"{rival.name} was soon far ahead, and {h.name} could only see {rival.his} back. {boast.replace('said', 'cried')}",
              f"At first {h.name} was ahead, and then {rival.name} was ahead. {boast.replace('said', 'shouted')}"),
        f'But {rival.name} did not look where {rival.he} was going, and {trouble}. "Help! Help!" cried {rival.name}.',
        s.say(f"{h.name} could see {goal} already. {h.He} could see {the_prize}, too. But {h.he} stopped and turned around.",
              f"{h.name} could have gone on and won {the_prize}. But {h.he} turned back at once.") +
        f' "Hold on to me," said {h.name}, and pulled {rival.name} out.',
        s.say(f"So {h.name} and {rival.name} came to {goal} together, side by side, and everyone cheered. They shared {the_prize}.",
              f'"You may go first," said {rival.name}. "You are {best} in the whole land, and the kindest." And so {h.name} won {the_prize}, and shared it with everyone.'),
    ]


def treasure_map(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    one, two, three = s.few(words.LANDMARKS, 3)
    where = s.some(("in an old book", "in a bottle", "under the floor", "in the pocket of an old coat", "behind a picture"))
    dig = s.some(("under the tallest tree", "between the two white stones", "beside the broken wall", "where the roses grow"))
    found = s.few(words.TREASURE, 3)
    steps = ((f"Walk to {one}", f"walked to {one}"), (f"Go past {two}", f"went past {two}"), (f"Turn left at {three}", f"turned left at {three}"),
             (f"Dig {dig}", f"dug {dig}"))
    return "The Old Map", [
        s.friendship() + f" {s.time()}, {h.name} found a map {where}. It was yellow and torn. {h.He} showed it to {f.name} at once.",
        f'On the map stood: "{steps[0][0]}. {steps[1][0]}. {steps[2][0]}. {steps[3][0]}." ' +
        s.say(f'"It is a treasure map!" cried {f.name}. "Let us go!"', f'"Shall we go?" asked {h.name}. "Of course," said {f.name}.'),
        f"So they {steps[0][1]}. {s.look(one)} They {steps[1][1]}. " + (s.look(two) + " " if s.likely(0.5) else "") + f"They {steps[2][1]}. {s.weather()}"
        + s.say(f'"I am tired," said {f.name}. "We are almost there," said {h.name}.', f'"What does the map say?" asked {f.name}. "{steps[3][0]}," read {h.name}.'),
        f"Then they {steps[3][1]}. They dug and dug, until the spade hit something hard. It was a chest! Inside the chest were {listed(found)}.",
        s.say(f'"What shall we do with it?" asked {f.name}. "We will share it," said {h.name}.',
              "They carried the chest home and gave something to everyone they met on the way."),
    ]


# what happened, what helps, how it helps
STUCK = (("had fallen into a deep hole", "a rope", "let down the rope and pulled {him} out"), ("was caught under a branch", "a long stick", "lifted the branch with the stick"),
         ("sat on a rock in the middle of the water", "a rope", "threw {him} the rope and pulled {him} over"),
         ("was stuck in the mud", "a ladder", "laid the ladder on the mud and pulled {him} out"),
         ("had lost the way in the fog", "a lantern", "held up the lantern and led {him} out of the fog"),
         ("sat at the top of a tree and did not dare to come down", "a ladder", "put the ladder against the tree and helped {him} down"))


def rescue(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    place = s.places(1)[0]
    stuck, tool, out = s.some(STUCK)
    things = [tool, *s.few(("a lamp", "a blanket", "a loaf of bread", "a bell", "a whistle", "a bottle of hot tea", "a dry coat", "a bag of nuts"), 2)]
    s.chance.shuffle(things)
    call = f'"{f.name}! {f.name}! Where are you, {f.name}?"'
    return f"{h.name} and the Storm", [
        s.friendship(),
        f"{s.say('One day', 'One windy day', 'One autumn evening', 'One night')}, a great storm came up. The wind howled, the rain fell, and the shutters banged. {f.name} had gone to {place} and had not come home. "
        + s.say(f'"I must find {f.him}," said {h.name}.', f'"Something has happened to {f.him}," thought {h.name}.'),
        f"{h.name} took {listed(things)} and went out into the storm. {call} {h.he} called. But there was no answer.",
        f"{h.name} went a little further. {call} {h.he} called again. But there was only the wind.",
        f'At last {h.he} came to {place}. {call} {h.he} called for the third time. "Here I am!" cried a small voice. "Here I am, {h.name}!"',
        f"There was {f.name}, who {stuck}. " + s.say(f'"Do not be afraid," said {h.name}. "I am here."', f'"I knew that you would come," said {f.name}.')
        + f" {h.name} {out.format(him=f.him)}. Then {h.he} gave {f.him} {s.some(('a big hug', 'a dry scarf', 'a warm cup of tea'))}, and arm in arm they walked home through the storm.",
        s.feast(f),
    ]


def counting(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    what = s.some((("star", "stars"), ("sheep", "sheep"), ("cloud", "clouds"), ("bell", "bells"), ("raindrop", "raindrops"), ("firefly", "fireflies")))
    last = s.any((4, 5, 6, 7))
    count = ", ".join(f"{words.NUMBERS[n]} {what[n > 0]}" for n in range(last))
    return f"{h.name} Cannot Sleep", [
        f"{s.say('One night', 'One warm night', 'One winter night')}, {h.name} could not sleep. {h.He} lay on {h.his} left side, {h.he} lay on {h.his} right side, and {h.he} lay on {h.his} back. "
        + s.say(f"But {h.his} eyes would not stay closed.", "But sleep did not come."),
        f"So {h.name} went to {f.full}, who lived {f.home}. " + s.say(f'"I cannot sleep," said {h.name}.', f'"Are you awake?" whispered {h.name}. "I am now," said {f.name}.'),
        f'"Then count {what[1]}," said {f.name}. "That always helps me." "How do you count {what[1]}?" asked {h.name}. "Like this," said {f.name}. '
        f'"{cap(count)}."',
        f'{h.name} lay down and counted, "{cap(count)}, {words.NUMBERS[last]} {what[1]}, {words.NUMBERS[last + 1]} {what[1]} ..."',
        s.say(f"But before {h.he} came to ten, {h.he} was asleep.", f"And then {h.name} was asleep.")
        + f' {f.name} put a blanket over {h.him}. "Good night, {h.name}," said {f.name}. And then {f.name} counted, too: "{cap(count)}."',
    ]


def trading(s: Story) -> tuple[str, list[str]]:
    h = s.hero
    goods = [f"{colour} {thing}" for colour, thing in zip(s.few(words.COLOURS, 4), s.few(words.THINGS[:20], 4))]
    others = [s.someone(), s.someone(), s.friend]
    paragraphs = [f"{s.time()}, {h.name} went to the market with {a(goods[0])}. {s.look('the market')} {h.He} wanted to find a birthday present for {s.friend.name}, "
                  f"who wished for {a(goods[3])}. But {h.name} had no money."]
    for number, other in enumerate(others[:2]):
        have, get = goods[number], goods[number + 1]
        paragraphs.append(f"{h.He} met {other.full}. " + s.say(f'"What a fine {have}!" said {other.name}. "I will give you my {get} for it."',
                                                             f'"I need {a(have)}," said {other.name}. "Would you like my {get}?"')
                          + f" So {h.name} gave {other.name} the {have}, and {other.name} gave {h.name} the {get}.")
    seller = s.someone()
    paragraphs.append(f"Then {h.he} met {seller.full}, who had {a(goods[3])}. \"Will you take my {goods[2]} for it?\" asked {h.name}. "
                      f"\"Gladly,\" said {seller.name}. So {h.name} gave {seller.name} the {goods[2]}, and {seller.name} gave {h.name} the {goods[3]}.")
    paragraphs.append(f"In the evening, {h.name} knocked at {s.friend.name}'s door. \"Happy birthday, {s.friend.name}!\" {h.he} said. \"{cap(a(goods[3]))}!\" cried {s.friend.name}. "
                      f"\"How did you get it?\" And {h.name} told the whole story: how the {goods[0]} became the {goods[1]}, how the {goods[1]} became the {goods[2]}, "
                      f"and how the {goods[2]} became the {goods[3]}.")
    return f"The {goods[3].title()}", paragraphs


def islands(s: Story) -> tuple[str, list[str]]:
    h, f = s.hero, s.friend
    colours, habits = s.few(words.COLOURS, 4), s.few(words.HABITS, 4)
    boat = f"{s.some(words.ADJECTIVES)} {s.some(('boat', 'ship', 'raft'))}"
    paragraphs = [s.friendship() + f" {s.time()}, {h.name} and {f.name} built {a(boat)} and sailed out to sea. {s.weather()}They wanted to find the most beautiful island in the world."]
    for order, colour, habit in zip(("first", "second", "third", "last"), colours, habits):
        see = s.say(f"Everything on it was {colour}: the {listed(s.few(('houses', 'trees', 'hills', 'birds', 'flowers', 'cows', 'roads', 'clouds', 'gates', 'boats'), 3))}.",
                    f"There they saw {listed(s.few(words.GOODS, s.any((2, 3, 4))))}.", f"It was {listed(s.few(words.ADJECTIVES, 3))}.")
        paragraphs.append(f"They came to the {order} island. {see} The people there {habit}. " + s.say(
            f'"Do you want to stay here?" asked {f.name}. "No," said {h.name}, "it is not like home." And so they sailed on.',
            f'"Is this the most beautiful island in the world?" asked {h.name}. "No," said {f.name}, "it is not like home." And so they sailed on.'))
    paragraphs.append(f"Then they came to an island that they knew well. There was {h.his} own bed, and there was {h.food} on the table. "
                      f'"This is it," said {h.name}. "The most beautiful island in the world!" And so they stayed.')
    return "The Most Beautiful Island", paragraphs
