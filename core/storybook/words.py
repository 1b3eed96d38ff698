"""The words that the stories are made of: who there is, where, and with what.

Only data. In most lists the first entries are drawn more often (`scenes.Story.some`), so that their order is
a matter of taste and of probability at once.
"""

# kind: (where it lives, what it likes to eat)
ANIMALS = {
    "fox": ("in a den under the roots of an old oak", "blackberries"),
    "rabbit": ("in a burrow at the edge of the meadow", "carrots"),
    "mouse": ("behind the wall of an old mill", "cheese"),
    "bear": ("in a cave on the side of the mountain", "honey"),
    "owl": ("in a hollow tree in the middle of the forest", "plum cake"),
    "hedgehog": ("under a heap of dry leaves", "apples"),
    "squirrel": ("high up in a walnut tree", "nuts"),
    "frog": ("beside a pond full of lilies", "barley soup"),
    "duck": ("among the reeds by the lake", "bread crumbs"),
    "otter": ("on the bank of a quick little river", "fish pie"),
    "badger": ("in a house under the hill", "mushrooms"),
    "cat": ("on the roof of the town hall", "cream"),
    "dog": ("in a kennel behind the inn", "sausages"),
    "goat": ("high on a rocky hill", "sweet grass"),
    "pony": ("in a stable beside the village green", "sugar lumps"),
    "goose": ("in the yard of a busy farm", "corn"),
    "turtle": ("on a warm stone by the sea", "green leaves"),
    "beaver": ("in a house of sticks in the middle of the river", "willow bark"),
    "sparrow": ("in a nest above the baker's window", "sunflower seeds"),
    "penguin": ("on an island of ice and snow", "little fish"),
    "elephant": ("beside a wide brown river", "ripe bananas"),
    "monkey": ("in the tallest tree of the jungle", "figs"),
    "small dragon": ("in a cave behind the waterfall", "hot peppers"),
    "young unicorn": ("in a valley where the mist never lifts", "clover"),
}

# kind: (where, food, "f", "m" or "" for either)
PEOPLE = {
    "girl": ("in a small house by the river", "pancakes", "f"),
    "boy": ("at the end of a long and dusty road", "cherry pie", "m"),
    "princess": ("in a castle with seven towers", "strawberry tart", "f"),
    "prince": ("in a palace of white stone", "roast chestnuts", "m"),
    "baker": ("above the bakery in the middle of the town", "warm bread", ""),
    "shepherd": ("in a hut where the green hills begin", "goat cheese", ""),
    "fisherman": ("in a cottage between the dunes and the sea", "fish soup", "m"),
    "old woman": ("in a crooked house at the edge of the wood", "apple cake", "f"),
    "old man": ("in a wooden cart with a yellow roof", "bean stew", "m"),
    "clockmaker": ("in a shop full of ticking clocks", "ginger biscuits", ""),
    "lighthouse keeper": ("at the top of a lighthouse", "potato pie", ""),
    "little witch": ("in a cottage with a chimney shaped like a hat", "pumpkin soup", "f"),
    "young wizard": ("in a tower with no stairs", "lemon drops", "m"),
    "gardener": ("in a glass house full of flowers", "peas and beans", ""),
    "sailor": ("on a boat with a patched blue sail", "oranges", ""),
    "miller": ("in a windmill on top of the hill", "oat cakes", ""),
    "tailor": ("in a narrow house with a crooked door", "plum jam", ""),
    "young giant": ("in a valley between two mountains", "whole wheels of cheese", ""),
    "little robot": ("in a workshop full of wheels and wires", "warm oil with a pinch of salt", ""),
}

GIRLS = ("Mira Lily Anna Rosa Ella Nora Ida Luna Clara Tilda Maya Hazel Greta Ruby Wren Olive Poppy Ivy Sofia Daisy Juno Lotte "
         "Amara Nina Yara Freya Flora Alma Tess Penny").split()
BOYS = ("Tom Pip Leo Max Finn Otto Milo Hugo Jack Ben Theo Sam Oskar Felix Rafi Basil Emil Gus Kai Bruno Noah Toby Hari Ned Jasper "
        "Rowan Arlo Henry Ivan Zeki").split()

# trait: what people said about someone who had it; {who}, {he}, {him} and {his} are filled in
TRAITS = {
    "kind": "{He} never walked past anyone who needed help.",
    "brave": "There was nothing in the whole land that could make {him} turn back.",
    "curious": "{He} asked a hundred questions every day, and one more before bed.",
    "clever": "Whenever something was broken, {he} knew how to mend it.",
    "shy": "When strangers came, {he} hid behind the nearest tree.",
    "cheerful": "{He} sang from the moment {he} woke up until the moment {he} fell asleep.",
    "lonely": "Every evening {he} set the table for two, just in case somebody came.",
    "gentle": "Even the smallest beetle was not afraid of {him}.",
    "stubborn": "Once {he} had made up {his} mind, not even the wind could change it.",
    "careful": "{He} looked twice before every step and three times before every jump.",
    "merry": "{He} could make anyone laugh, even on a rainy Monday.",
    "sleepy": "{He} could fall asleep anywhere, even in the middle of a word.",
    "patient": "{He} could wait a whole day for a flower to open.",
    "hungry": "{He} was always thinking about the next meal.",
    "forgetful": "{He} tied a knot in a string for every thing to remember, and then {he} lost the string.",
    "poor": "All that {he} owned fitted into one small bag.",
}

LANDS = ("a land far away", "a kingdom by the sea", "a village at the foot of the mountain", "a country of hills and rivers",
         "a town with a hundred bridges", "a forest so old that nobody knew its name", "a valley full of apple trees",
         "a land where it snowed every winter", "an island shaped like a spoon", "a city of red roofs")
CLEAR, WET, COLD = ("The sun was shining and the sky was blue.", "The wind was soft and warm.", "The birds were singing in the trees.",
                    "It was so quiet that one could hear the grass grow."), (
    "A light rain was falling.", "Big grey clouds were rolling over the hills.", "The puddles were as big as ponds."), (
    "The snow lay deep and white on the ground.", "The lake was frozen.", "It was so cold that every breath became a little cloud.")
DUSK = ("The first stars came out.", "The moon was round and bright.", "The sky was red and gold.")
# a phrase that begins a scene, and what the weather may be then
TIMES = {"One morning": CLEAR + WET, "One day": CLEAR + WET, "One evening": DUSK, "One sunny morning": CLEAR, "One cold winter day": COLD,
         "One rainy afternoon": WET, "One spring morning": CLEAR, "One quiet afternoon": CLEAR, "One windy day": WET[1:2],
         "One autumn evening": ("The leaves were turning red and gold.", *DUSK), "On a bright summer day": CLEAR,
         "On the first day of spring": CLEAR}
# a place, and what one sees there
PLACES = {
    "the forest": "The trees stood tall and close together.", "the river": "The water was clear and cold.",
    "the market": "The market was full of people and noise.", "the old bridge": "The bridge was made of mossy stones.",
    "the mountain": "The path was steep and full of stones.", "the meadow": "The grass was high and full of flowers.",
    "the lake": "The lake was as smooth as a mirror.", "the harbour": "Ships with tall masts rocked in the harbour.",
    "the windmill": "The wings of the windmill turned slowly.", "the castle": "The castle gate was as high as ten men.",
    "the sea": "The waves rolled onto the sand, one after another.", "the well": "The well was deep, round, and dark.",
    "the orchard": "The branches hung low with ripe fruit.", "the crossroads": "Four roads met under a crooked sign.",
    "the waterfall": "The waterfall roared like a hundred lions.", "the old mill": "The wheel of the mill creaked and splashed.",
    "the library": "There were books from the floor to the roof.", "the desert": "There was nothing but sand and sky.",
    "the swamp": "The mud was deep and the air smelled of moss.", "the garden": "The garden smelled of roses and mint.",
}
SPOTS = ("under a pile of leaves", "at the top of the tallest tree", "behind the waterfall", "in the middle of the pond",
         "under the old bridge", "on the roof of the mill", "between two grey stones", "in a nest full of sleeping birds",
         "at the bottom of the well", "inside a hollow log", "beside the garden gate", "on the highest step of the tower")
LANDMARKS = ("the old bridge", "the windmill", "the well", "the orchard", "the crossroads", "the waterfall", "the old mill", "the garden",
             "the library", "the castle")
COLOURS = ("red", "blue", "golden", "green", "silver", "yellow", "white", "purple", "black", "orange", "pink", "brown")
THINGS = ("kite", "hat", "key", "drum", "scarf", "lantern", "boat", "ring", "bell", "umbrella", "book", "button", "flute", "cup",
          "ball", "map", "boot", "feather", "blanket", "whistle", "basket", "marble", "coat", "mirror")
GOODS = ("apples", "candles", "ribbons", "drums", "cheese", "pears", "silver spoons", "paper lanterns", "honey", "wooden horses",
         "hats", "carpets", "pumpkins", "glass beads", "fresh bread", "feathers", "teapots", "oranges", "warm socks", "clocks",
         "plums", "kites", "brooms", "roses", "nuts", "blue cups", "violins", "buttons", "soap", "fish")
TREASURE = ("gold coins", "old letters", "a silver crown", "blue stones", "a wooden flute", "pearls", "a tiny ship in a bottle",
            "seeds that shone like stars", "a sleeping kitten", "a cake with candles", "a clock that ran backwards", "shells",
            "a book of songs", "a golden spoon", "a pair of red boots", "a hundred marbles", "painted eggs", "a mirror")
HABITS = ("walked on their hands", "spoke only in rhymes", "wore their shoes on their ears", "painted the clouds every morning",
          "slept in trees", "counted the waves", "danced all day", "never said a word", "collected rain in cups", "baked bread as big as boats",
          "rode on the backs of sheep", "sang to the fish", "laughed at everything", "kept snails as pets", "built towers of sand",
          "told the same joke over and over", "drank tea from buckets", "hung their beds in the wind", "raced with turtles", "ate soup with forks")
VEGETABLES = ("turnip", "pumpkin", "carrot", "beet", "radish", "cabbage", "potato", "onion")
ADJECTIVES = ("small", "bright", "old", "round", "soft", "quiet", "warm", "strange", "heavy", "shiny", "crooked", "tall", "dusty",
              "sweet", "cold", "deep", "golden", "gentle", "tiny", "wild")
MAGIC = ("Abra, dabra, moon and sea", "Hush and hum and let it come", "Tick and tock and turn the lock", "Silver, sun, and seven stars",
         "Up and under, wind and thunder", "Pim and pam and periwink", "One for the rain and one for the sun")
SONGS = ("Little star, shine on me, over hill and over sea", "Step by step and stone by stone, nobody has to walk alone",
         "Wind may blow and rain may fall, I am not afraid at all", "Round and round the world we go, through the sun and through the snow",
         "Sleep, my moon, and sleep, my sun, now the long, long day is done", "Row, my boat, and row with me, down the river to the sea")
# riddle, answer, two wrong guesses
RIDDLES = (
    ("I have teeth, but I cannot bite. What am I?", "a comb", "a saw", "an old dog"),
    ("I have hands, but I cannot clap. What am I?", "a clock", "a glove", "a statue"),
    ("I run all day, but I never leave my bed. What am I?", "a river", "a horse", "a dream"),
    ("The more you take from me, the bigger I grow. What am I?", "a hole", "a debt", "a fire"),
    ("I have an eye, but I cannot see. What am I?", "a needle", "a potato", "a storm"),
    ("I follow you all day, and at night I am gone. What am I?", "a shadow", "a dog", "the sun"),
    ("I have a neck, but no head. What am I?", "a bottle", "a shirt", "a goose"),
    ("I fall every winter, but I never hurt myself. What am I?", "the snow", "a leaf", "the rain"),
    ("I answer everyone, but I never ask a question. What am I?", "an echo", "a teacher", "a door"),
)
MORALS = ("A friend is worth more than gold.", "Whoever shares has twice as much.", "Even the smallest one can do great things.",
          "Kind words open every door.", "One step after another leads to the top of the mountain.", "It is brave to ask for help.",
          "Whoever waits will see the flower open.", "The best treasure is the one you can share.",
          "Many hands make light work.", "Home is where someone waits for you.")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
