"""The wording of the walkthrough. Names in braces are filled in by `narrate.py`; each text in both languages."""

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
    "expand.first": {
        "en": "The head guesses what follows: it scores {new} candidates after {parent}. Its favourite is {best}, "
              "with probability {p}.",
        "zh": "草稿头猜测下一个词元：在 {parent} 之后给 {new} 个候选打分。它最看好 {best}，概率 {p}。",
    },
    "expand.one": {
        "en": "With top_k 1 the tree is a chain: after {parent} the head proposes {best} alone, with probability {p}.",
        "zh": "top_k 为 1 时树就是一条链：在 {parent} 之后草稿头只提出 {best}，概率 {p}。",
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
    "rerank.all": {
        "en": "All {n} candidates are kept: this tree is as large as it can be. The worst of them is {last}, at {cutoff}.",
        "zh": "{n} 个候选全部保留：这棵树已经大到不能再大。最差的是 {last}，{cutoff}。",
    },
    "flatten": {
        "en": "The {n} kept candidates line up behind the root in the order they were made, so candidate {candidate}, "
              "{token}, becomes row {row}. It may look at the prefix and at {ancestors}, and at nothing beside its "
              "own path. The tree has {leaves} such paths.",
        "zh": "保留的 {n} 个候选按创建顺序排在根之后，于是第 {candidate} 号候选 {token} 成为第 {row} 行。"
              "它只能看见前缀和 {ancestors}，看不见自己路径以外的任何东西。这棵树共有 {leaves} 条这样的路径。",
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
    "draw.in": {"en": "{token} stays ({r} < {p})", "zh": "{token} 留下（{r} < {p}）"},
    "draw.out": {"en": "{token} falls ({r} ≥ {p})", "zh": "{token} 落选（{r} ≥ {p}）"},
    "draw.more": {"en": ", and {n} draws more", "zh": "，以及另外 {n} 次抽签"},
    "commit": {
        "en": "The target's cache keeps {kept} of the {rows} rows it has just read, the root and the accepted path, "
              "and drops the other {dropped}: it grows from {before} to {after}. {bonus} is the root of the next round.",
        "zh": "目标模型的缓存在刚读的 {rows} 行中保留 {kept} 行，即根和被接受的路径，其余 {dropped} 行丢弃："
              "长度从 {before} 变为 {after}。{bonus} 就是下一轮的根。",
    },
}
