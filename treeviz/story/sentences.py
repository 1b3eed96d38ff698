"""The wording of the walkthrough. Names in braces are filled in by `narrate.py`; each text in both languages.

"what@policy" is what is said in place of "what" where that policy drafts."""

TEXT = {
    "list": {"en": (", ", " and "), "zh": ("、", "和")},
    "ended": {  # a run without rounds
        "en": "The target's first token, {token}, ended the text: nothing was drafted, so there is no tau.",
        "zh": "目标模型的第一个词元 {token} 就结束了文本：没有起草，因此没有 tau。",
    },
    "ended.early": {
        "en": "The run was stopped before its first round: nothing was drafted, so there is no tau.",
        "zh": "运行在第一轮之前就停止了：没有起草，因此没有 tau。",
    },
    "gain.none": {
        "en": "Round {round} wrote one token with one pass of the target: its own; nothing that was drafted fitted.",
        "zh": "第 {round} 轮用目标模型的一次前向写出 1 个词元：目标自己的那个；草稿全部落空。",
    },
    "gain.bare": {
        "en": "Round {round} wrote one token with one pass of the target: its own; nothing was drafted.",
        "zh": "第 {round} 轮用目标模型的一次前向写出 1 个词元：目标自己的那个；没有起草。",
    },
    "gain.one": {
        "en": "Round {round} wrote two tokens with one pass of the target: one that the head had drafted, "
              "and one of its own.",
        "zh": "第 {round} 轮用目标模型的一次前向写出 2 个词元：1 个来自草稿，1 个是目标自己的。",
    },
    "gain.some": {
        "en": "Round {round} wrote {total} tokens with one pass of the target: {n} that the head had drafted, "
              "and one of its own.",
        "zh": "第 {round} 轮用目标模型的一次前向写出 {total} 个词元：{n} 个来自草稿，1 个是目标自己的。",
    },
    "root.first": {
        "en": "The target has read the {n} tokens of the prompt and says {root} next. That token is certain; "
              "the tree of this round grows from it.",
        "zh": "目标模型读完提示的 {n} 个词元，接着说出 {root}。这个词元已经确定；本轮的树从它长出。",
    },
    "root": {
        "en": "{root} is certain: the target itself said it at the end of round {round}. "
              "Everything drafted in this round hangs off it.",
        "zh": "{root} 已经确定：它是目标模型在第 {round} 轮末尾亲自说出的。本轮的所有草稿都挂在它下面。",
    },
    "root.first@chain": {
        "en": "The target has read the {n} tokens of the prompt and says {root} next. That token is certain; "
              "the chain of this round starts behind it.",
        "zh": "目标模型读完提示的 {n} 个词元，接着说出 {root}。这个词元已经确定；本轮的链从它后面开始。",
    },
    "root.first@plain": {
        "en": "The target has read the {n} tokens of the prompt and says {root} next. That token is certain; "
              "nothing is drafted after it.",
        "zh": "目标模型读完提示的 {n} 个词元，接着说出 {root}。这个词元已经确定；它之后不起草。",
    },
    "root@chain": {
        "en": "{root} is certain: the target itself said it at the end of round {round}. "
              "The chain of this round starts behind it.",
        "zh": "{root} 已经确定：它是目标模型在第 {round} 轮末尾亲自说出的。本轮的链从它后面开始。",
    },
    "root@plain": {
        "en": "{root} is certain: the target itself said it in round {round}. Nothing is drafted, so whatever follows "
              "it takes a whole pass of the target.",
        "zh": "{root} 已经确定：它是目标模型在第 {round} 轮亲自说出的。没有起草，所以它后面的每个词元都要目标模型前向一次。",
    },
    "expand.first": {
        "en": "The head guesses what follows: it scores {new} candidates after {parent}. Its favourite is {best}, "
              "with probability {p}.",
        "zh": "草稿头猜测下一个词元：在 {parent} 之后给 {new} 个候选打分。它最看好 {best}，概率 {p}。",
    },
    "expand.one": {
        "en": "After {parent} the head proposes {best} alone, with probability {p}.",
        "zh": "在 {parent} 之后草稿头只提出 {best}，概率 {p}。",
    },
    "expand.one@eagle2": {
        "en": "With top_k 1 the tree is a chain: after {parent} the head proposes {best} alone, with probability {p}.",
        "zh": "top_k 为 1 时树就是一条链：在 {parent} 之后草稿头只提出 {best}，概率 {p}。",
    },
    "expand.one@chain": {
        "en": "A chain grows by the likeliest token alone: after {parent} the head says {best}, with probability {p}. "
              "That all of it is right up to here has probability {whole}.",
        "zh": "链每次只接上最可能的那个词元：在 {parent} 之后草稿头说 {best}，概率 {p}。到此为止全都猜对的概率是 {whole}。",
    },
    "expand.single": {
        "en": "{parent} goes through the head and gets {new} children. The surest guess is {best}, with probability {p}.",
        "zh": "{parent} 通过草稿头，得到 {new} 个孩子。最有把握的是 {best}，概率 {p}。",
    },
    "expand.uneven": {
        "en": "The {fed} chosen tokens go through the head and get {new} children together. The surest guess is {best} "
              "after {parent}, with probability {p}.",
        "zh": "选中的 {fed} 个词元通过草稿头，共得 {new} 个孩子。最有把握的是 {parent} 之后的 {best}，概率 {p}。",
    },
    "expand": {
        "en": "The {fed} chosen tokens go through the head in one forward, and each gets {each} children: {new} new "
              "candidates. The surest guess is {best} after {parent}, with probability {p}.",
        "zh": "选中的 {fed} 个词元一次通过草稿头，各得 {each} 个孩子：共 {new} 个新候选。"
              "最有把握的是 {parent} 之后的 {best}，概率 {p}。",
    },
    "select.one": {
        "en": "The best candidate by score goes on: {best}, whose score is the sum of the log-probabilities along its "
              "path, {sum}.",
        "zh": "得分最高的候选继续生长：{best}，得分是沿路径的对数概率之和，{sum}。",
    },
    "select.all": {
        "en": "All {n} go on: each will be fed back to the head. {best} leads with {score}, the logarithm of its "
              "probability; the last is {last} with {worst}.",
        "zh": "这 {n} 个全部继续：每个都会再喂给草稿头。领先的是 {best}，得分 {score}，即其概率的对数；最后是 {last}，{worst}。",
    },
    "select": {
        "en": "A score is the sum of the log-probabilities along the path. The {n} best of the {new} go on: first "
              "{best}, {sum}; last {last}, at {worst}.",
        "zh": "得分是沿路径的对数概率之和。{new} 个中最好的 {n} 个继续：首位 {best}，{sum}；末位 {last}，{worst}。",
    },
    "rerank": {
        "en": "Now all {n} candidates of all layers compete, and the best {kept} are kept. The cut falls at {cutoff}: "
              "{last} is the last one in, {out} with {score} the first one out.",
        "zh": "现在各层的 {n} 个候选一起排名，保留最好的 {kept} 个。分数线是 {cutoff}：{last} 最后入选，{out}（{score}）最先出局。",
    },
    "flatten": {
        "en": "The {n} kept candidates line up behind the root in the order they were made, so candidate {candidate}, "
              "{token}, becomes row {row}. It may look at the prefix and at {ancestors}, and at nothing beside its "
              "own path. The tree has {leaves} such paths.",
        "zh": "保留的 {n} 个候选按创建顺序排在根之后，于是第 {candidate} 号候选 {token} 成为第 {row} 行。"
              "它只能看见前缀和 {ancestors}，看不见自己路径以外的任何东西。这棵树共有 {leaves} 条这样的路径。",
    },
    "flatten.one": {
        "en": "The one drafted token, {token}, becomes row {row}, behind the root. It may look at the prefix and at "
              "{ancestors}.",
        "zh": "唯一的草稿词元 {token} 成为根之后的第 {row} 行。它能看见前缀和 {ancestors}。",
    },
    "flatten@chain": {
        "en": "The {n} drafted tokens line up behind the root: a chain is one path, so every row may look at the prefix "
              "and at all rows before it, and {token} becomes row {row}, the last.",
        "zh": "{n} 个草稿词元排在根之后：链只有一条路径，所以每一行都能看见前缀和它之前的所有行，{token} 成为最后的第 {row} 行。",
    },
    "where.one": {"en": "the one row with children", "zh": ""},
    "where.all": {"en": "all {inner} rows with children", "zh": ""},
    "where.none": {"en": "none of the rows with children", "zh": ""},
    "where.some": {"en": "{hits} of the {inner} rows with children", "zh": ""},
    "verify.hit": {
        "en": "The target reads all {rows} rows in one pass, at positions {first} to {last}. After {root} it would say "
              "{choice} (probability {p}), and the tree has it. At {where} its choice is among them.",
        "zh": "目标模型一次前向读完全部 {rows} 行，位置 {first} 到 {last}。在 {root} 之后它会说 {choice}（概率 {p}），树里正好有。"
              "在有孩子的 {inner} 行中，有 {hits} 行的选择就在孩子里。",
    },
    "verify.miss": {
        "en": "The target reads all {rows} rows in one pass, at positions {first} to {last}. After {root} it would say "
              "{choice} (probability {p}), which the tree does not have. At {where} its choice is "
              "among them.",
        "zh": "目标模型一次前向读完全部 {rows} 行，位置 {first} 到 {last}。在 {root} 之后它会说 {choice}（概率 {p}），树里没有。"
              "在有孩子的 {inner} 行中，有 {hits} 行的选择就在孩子里。",
    },
    "verify.bare": {
        "en": "The target reads {root} in one pass, at position {first}. After it, it would say {choice} (probability {p}).",
        "zh": "目标模型一次前向读入 {root}，位置 {first}。在它之后，目标会说 {choice}（概率 {p}）。",
    },
    "verify.hit@chain": {
        "en": "The target reads all {rows} rows in one pass, at positions {first} to {last}. After {root} it would say "
              "{choice} (probability {p}), and so did the head. At {where} the two agree.",
        "zh": "目标模型一次前向读完全部 {rows} 行，位置 {first} 到 {last}。在 {root} 之后它会说 {choice}（概率 {p}），"
              "和草稿头一样。在有孩子的 {inner} 行中，有 {hits} 行两者一致。",
    },
    "verify.miss@chain": {
        "en": "The target reads all {rows} rows in one pass, at positions {first} to {last}. After {root} it would say "
              "{choice} (probability {p}), which is not what the head said. At {where} the two agree.",
        "zh": "目标模型一次前向读完全部 {rows} 行，位置 {first} 到 {last}。在 {root} 之后它会说 {choice}（概率 {p}），"
              "和草稿头不同。在有孩子的 {inner} 行中，有 {hits} 行两者一致。",
    },
    "accept": {
        "en": "After {root} the target would have said {path} itself, and the tree has them all. {ending} So {n} "
              "drafted tokens are accepted, and {bonus} comes for free.",
        "zh": "在 {root} 之后，目标模型自己也会说 {path}，树里全都有。{ending}于是接受 {n} 个草稿词元，{bonus} 白送。",
    },
    "accept.one": {
        "en": "After {root} the target would have said {path} itself, and the tree has it. {ending} So one drafted "
              "token is accepted, and {bonus} comes for free.",
        "zh": "在 {root} 之后，目标模型自己也会说 {path}，树里正好有。{ending}于是接受 1 个草稿词元，{bonus} 白送。",
    },
    "accept.none": {
        "en": "{ending} So nothing drafted is accepted, and the round brings only {bonus}, the target's own.",
        "zh": "{ending}于是没有草稿被接受，这一轮只得到目标模型自己的 {bonus}。",
    },
    "accept.bare": {
        "en": "Nothing was drafted, so there is nothing to judge: the round brings {bonus}, the target's own choice.",
        "zh": "没有起草，也就没有什么要判断：这一轮只得到目标自己选的 {bonus}。",
    },
    "accept@chain": {
        "en": "After {root} the target would have said {path} itself, word for word as the chain has it. {ending} So {n} "
              "drafted tokens are accepted, and {bonus} comes for free.",
        "zh": "在 {root} 之后，目标模型自己也会说 {path}，与链逐个相同。{ending}于是接受 {n} 个草稿词元，{bonus} 白送。",
    },
    "accept.one@chain": {
        "en": "After {root} the target would have said {path} itself, and so does the chain. {ending} So one drafted "
              "token is accepted, and {bonus} comes for free.",
        "zh": "在 {root} 之后，目标模型自己也会说 {path}，链也是。{ending}于是接受 1 个草稿词元，{bonus} 白送。",
    },
    "ending.leaf": {
        "en": "Nothing was drafted after {last}, where it says {bonus}.",
        "zh": "{last} 之后没有草稿，目标在那里说 {bonus}。",
    },
    "ending.one": {
        "en": "After {last} it wants {bonus}, but the tree offers only {offered}.",
        "zh": "在 {last} 之后它想要 {bonus}，而树里只有 {offered}。",
    },
    "ending.some": {
        "en": "After {last} it wants {bonus}, which is none of the {count} drafted there.",
        "zh": "在 {last} 之后它想要 {bonus}，而那里起草的 {count} 个都不是。",
    },
    "ending.cut": {
        "en": "After {last} it wants {bonus}: the head had scored it, {score}, but below the cut of {cutoff}.",
        "zh": "在 {last} 之后它想要 {bonus}：草稿头给它打过分，{score}，但低于分数线 {cutoff}。",
    },
    "ending.leaf@chain": {
        "en": "The chain ends with {last}, where it says {bonus}.",
        "zh": "链到 {last} 为止，目标在那里说 {bonus}。",
    },
    "ending.one@chain": {
        "en": "After {last} it wants {bonus}, but the chain goes on with {offered}, and whatever hangs on that is lost too.",
        "zh": "在 {last} 之后它想要 {bonus}，而链接的是 {offered}，挂在它后面的也都作废。",
    },
    "sample": {
        "en": "Each drafted child is drawn for: it stays if r < p, p being its share of the target's probability that "
              "is left. {draws}{more}. So {n} drafted are accepted, and {bonus} is drawn from what is left.",
        "zh": "对每个草稿孩子抽签：若 r < p 则留下，p 是它在目标剩余概率中的份额。{draws}{more}。"
              "于是接受 {n} 个草稿，{bonus} 从剩余概率中抽出。",
    },
    "sample.none": {
        "en": "Each drafted child is drawn for: it stays if r < p, p being its share of the target's probability that "
              "is left. {draws}{more}. None stays, so {bonus} is drawn from the probability that is left.",
        "zh": "对每个草稿孩子抽签：若 r < p 则留下，p 是它在目标剩余概率中的份额。{draws}{more}。"
              "无一留下，于是 {bonus} 从剩余概率中抽出。",
    },
    "sample.bare": {
        "en": "Nothing was drafted, so there is nothing to judge: {bonus} is drawn from the target's probabilities.",
        "zh": "没有起草，也就没有什么要判断：{bonus} 从目标的概率中抽出。",
    },
    "draw.in": {"en": "{token} stays ({r} < {p})", "zh": "{token} 留下（{r} < {p}）"},
    "draw.out": {"en": "{token} falls ({r} ≥ {p})", "zh": "{token} 落选（{r} ≥ {p}）"},
    "draw.more": {"en": ", and {n} draws more", "zh": "，以及另外 {n} 次抽签"},
    "commit": {
        "en": "The target's cache keeps {kept} of the {rows} rows it has just read, the root and the accepted path, "
              "and drops the other {dropped}: it grows from {before} to {after}. {bonus} is the root of the next round.",
        "zh": "目标模型的缓存在刚读的 {rows} 行中保留 {kept} 行，即根和被接受的路径，其余 {dropped} 行丢弃："
              "长度从 {before} 变为 {after}。{bonus} 就是下一轮的根。",
    },
    "commit.all": {
        "en": "The target's cache keeps all {rows} rows it has just read, the root and the accepted path: it grows from "
              "{before} to {after}. {bonus} is the root of the next round.",
        "zh": "目标模型的缓存保留刚读的全部 {rows} 行，即根和被接受的路径：长度从 {before} 变为 {after}。{bonus} 就是下一轮的根。",
    },
    "commit.bare": {
        "en": "The target's cache keeps the one row it has just read, that of {root}: it grows from {before} to {after}. "
              "{bonus} is the root of the next round.",
        "zh": "目标模型的缓存保留刚读的那一行，即 {root}：长度从 {before} 变为 {after}。{bonus} 就是下一轮的根。",
    },
}
