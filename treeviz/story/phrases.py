"""The words of the page around the view, in English and Chinese: form, tabs, charts, progress and errors.

Names in braces are filled in by `phrase`. The words of the view itself are in `assets/view-words.js`, the sentences
about a round in `sentences.py`: one word per thing in all three. Names of settings (top_k, temperature) are the
same in every language.
"""

from __future__ import annotations

from core.errors import UserError

from .narrate import LANGUAGES

Said = dict[str, str]  # a sentence, by language

TEXT = {  # where there is "x.one", it is what "x" says when n is 1
    # the page
    "tab.round": ("Inside a round", "走进一轮"),
    "tab.run": ("The whole run", "整个运行"),
    "recorded": ("Recorded runs", "录制的运行"),
    "recorded.yours": ("Your file {name}", "你的文件 {name}"),
    "open": ("Open a trace", "打开轨迹"),
    "save": ("Save this trace", "保存此轨迹"),
    # the form
    "form": ("Decode a prompt", "解码一个提示"),
    "prompt": ("Prompt", "提示"),
    "prompt.hint": ("What should the model go on from?", "让模型从哪里接着写？"),
    "examples": ("Examples", "示例"),
    "pair": ("Pair", "模型对"),
    "chat": ("As a chat message", "作为对话消息"),
    "chat.can": ("Wraps the prompt in the model’s chat template.", "用模型的对话模板包住提示。"),
    "chat.not": ("This pair goes on with the text as it stands.", "这个模型对从原文直接续写。"),
    "decode": ("Decode", "解码"),
    "stop": ("Stop", "停止"),
    "tree": ("The tree", "树"),
    "policy": ("Way to draft", "起草方式"),
    "policy.info": ("Which tree the head drafts. What comes out is the same text.", "草稿头起草怎样的树。输出的文本相同。"),
    "policy.eagle2": ("a dynamic tree (eagle2)", "动态树（eagle2）"),
    "policy.chain": ("a chain", "链（chain）"),
    "policy.plain": ("nothing (plain)", "不起草（plain）"),
    "preset": ("Ready-made", "现成的树"),
    "preset.info": ("On a CPU every row costs: there a small tree wins.", "在 CPU 上每一行都要花时间：那里小树更合算。"),
    "preset.paper": ("the paper’s", "论文的"),
    "preset.cpu": ("for a CPU", "适合 CPU"),
    "top_k": ("Children per token, and tokens expanded per layer.", "每个词元的孩子数，也是每层展开的词元数。"),
    "depth": ("Layers after the first.", "第一层之后的层数。"),
    "total_tokens": ("Drafted tokens that are kept and verified; at most as many as there are candidates.",
                     "保留下来并验证的草稿词元数；最多与候选一样多。"),
    "length": ("Drafted tokens, one head pass each.", "草稿词元数，每个用草稿头一次前向。"),
    "draft_vocab": ("The head guesses among these only; what comes out is the same.", "草稿头只在这些词元里猜；输出不变。"),
    "draft_vocab.all": ("all tokens", "全部词元"),
    "draft_vocab.some": ("the {size:,} most frequent tokens", "最常见的 {size:,} 个词元"),
    "sampling": ("Sampling and length", "采样与长度"),
    "temperature": ("0 is greedy: always the likeliest token.", "温度。0 为贪心：总是取最可能的词元。"),
    "top_p": ("Sample from this much of the probability only.", "只从最可能的、合计占这么多概率的词元中采样。"),
    "max_new_tokens": ("The run ends after this many tokens.", "写出这么多词元后运行结束。"),
    "seed": ("The same seed draws the same tokens.", "随机种子：种子相同，抽出的词元也相同。"),
    # what a pair costs
    "cost.loaded": ("Loaded: it decodes at once.", "已载入：立即开始解码。"),
    "cost.yours": ("Your pair. The first run loads it.", "你的模型对。第一次运行时载入。"),
    "cost.machine": ("On this machine; the first run loads it, which takes some seconds.",
                     "在本机上；第一次运行时载入，需要几秒。"),
    "cost.repository": ("In the repository; the first run loads it, which takes some seconds.",
                        "在代码仓库中；第一次运行时载入，需要几秒。"),
    "cost.offline": ("Not on this machine, and HF_HUB_OFFLINE keeps it from being fetched.",
                     "不在本机上，而 HF_HUB_OFFLINE 不让下载。"),
    "cost.fetch": ("Not on this machine yet: the first run fetches {size}, once.",
                   "还不在本机上：第一次运行时下载 {size}，仅此一次。"),
    "cost.gpu": (" It wants a GPU.", "需要 GPU。"),
    "cost.licence": (" Licence: {licence}.", "许可证：{licence}。"),
    # what is said while one waits, and at the end
    "ahead": ("{n} runs are before yours; {length} in the line.", "前面还有 {n} 个运行；队中共 {length} 个。"),
    "ahead.one": ("A run is before yours; {length} in the line.", "前面还有 1 个运行；队中共 {length} 个。"),
    "loading": ("Loading {name}.", "正在载入 {name}。"),
    "loading.note": ("{note}.", "正在载入 {name}。"),  # the decoder's own notes are English
    "loading.share": ("{note}.", "正在下载 {name}：{share:.0%}。"),
    "tokens": ("{n:,} tokens", "{n:,} 个词元"),
    "tokens.one": ("1 token", "1 个词元"),
    "reading": ("Reading the prompt ({tokens}).", "正在读提示（{tokens}）。"),
    "begun": ("The text begins with “{token}”; the first round is on its way.", "文本以“{token}”开头；第一轮正在进行。"),
    "reading.share": ("Reading the prompt ({tokens}): {share:.0%}.", "正在读提示（{tokens}）：{share:.0%}。"),
    "decoding": ("Decoding.", "正在解码。"),
    "done": ("Done.", "完成。"),
    "stopped": ("Stopped.", "已停止。"),
    "noted": ("{how} {notes}", "{how}请注意英文的说明：{notes}"),  # the decoder's own notes
    "opening": ("Reading the trace.", "正在读取轨迹。"),
    "opened": ("Opened.", "已打开。"),
    # errors
    "error.word": ("{name} is {value}; give a number from {low} to {high:,}.", "{name} 为 {value}；请填 {low} 到 {high:,} 之间的数。"),
    "error.blank": ("{name} is empty; give a number from {low} to {high:,}.", "{name} 是空的；请填 {low} 到 {high:,} 之间的数。"),
    "error.bounds": ("{name} is {value}; give a number from {low} to {high:,}.",
                     "{name} 为 {value}；请填 {low} 到 {high:,} 之间的数。"),
    "error.whole": ("{name} is {value}; give a whole number from {low} to {high:,}.",
                    "{name} 为 {value}；请填 {low} 到 {high:,} 之间的整数。"),
    "error.prompt": ("The prompt is not text; type something to decode.", "提示不是文字；请输入要解码的内容。"),
    "error.chat": ("chat is {value}; give true or false.", "chat 为 {value}；请填 true 或 false。"),
    "error.policy": ("policy is {value}; the page has {policies}.", "policy 是 {value}；页面提供 {policies}。"),
    "error.values": ("A value of this request is not of its kind; give text, numbers, true or false, as the README’s API says.",
                     "此请求中有的值类型不对；请照 README 的 API 一节填写文字、数、true 或 false。"),
    "error.empty": ("The prompt is empty; type something to decode.", "提示是空的；请输入要解码的内容。"),
    "error.long": ("The prompt has {n:,} characters; give {most:,} at most.", "提示有 {n:,} 个字符；最多可以有 {most:,} 个。"),
    "error.one": ("A run of yours is going on already; wait for its end, or use a client of its own for each run.",
                  "你已有一个运行在进行；请等它结束，或为每个运行各用一个客户端。"),
    "error.address": ("{n} runs from your network are waiting already; try again when one has ended.",
                      "你的网络已有 {n} 个运行在等待；请等其中一个结束后再试。"),
    "error.gone": ("Nobody listens to this run any more, so it was ended; ask again.", "已无人在听这个运行，它被结束了；请重新提出。"),
    "error.line": ("{n} runs are waiting already; try again in a few minutes.", "已有 {n} 个运行在等待；请过几分钟再试。"),
    "error.pair": ("There is no pair {name} here; there is {pairs}.", "这里没有模型对 {name}；现有 {pairs}。"),
    "error.load": ("{name} could not be loaded ({error}); look at the terminal for more.", "{name} 无法载入（{error}）；详情见终端。"),
    "error.run": ("The run broke off ({error}); try a shorter prompt or a smaller tree, and look at the terminal for more.",
                  "运行中断（{error}）；请换更短的提示或更小的树，详情见终端。"),
    # what goes before a sentence of the decoder, which is English
    "error.decoder": ("{error}", "未能解码；请照英文的说明处理后再试：{error}"),
    "error.trace": ("{error}", "无法打开这个文件；请换一个轨迹文件。英文的说明：{error}"),
    "error.file": ("{path} cannot be shown ({error}); open another trace.", "{path} 无法显示（{error}）；请打开别的轨迹。"),
    # the charts
    "chart.none": ("No run is loaded.", "还没有载入运行。"),
    "chart.new": ("**{n}** new tokens", "写出 **{n}** 个新词元"),
    "chart.new.one": ("**1** new token", "写出 **1** 个新词元"),
    "chart.in": (" in **{n}** rounds. ", "，共 **{n}** 轮。"),
    "chart.in.one": (" in **1** round. ", "，共 **1** 轮。"),
    "chart.tau": ("**tau {tau:.2f}**: tokens per round, the mean of accepted length + 1; plain decoding has 1. ",
                  "**tau {tau:.2f}**：每轮词元数，即接受长度 + 1 的平均；普通解码为 1。"),
    "chart.length": ("*Accepted length*: drafted tokens accepted in a round, the bonus not counted. ",
                     "*接受长度*：一轮中被接受的草稿词元数，不计奖励。"),
    "chart.kept": ("A round verifies {n} drafted tokens; ", "每轮验证 {n} 个草稿词元；"),
    "chart.kept.one": ("A round verifies 1 drafted token; ", "每轮验证 1 个草稿词元；"),
    "chart.kept.most": ("A round verifies up to {n} drafted tokens; ", "每轮最多验证 {n} 个草稿词元；"),
    "chart.kept.none": ("Nothing is drafted; ", "没有起草；"),
    "chart.passes": ("the target ran **{target}** times (one a round, and the prefill), the head **{head}** times.",
                     "目标模型运行 **{target}** 次（每轮一次，加上预填充），草稿头运行 **{head}** 次。"),
    "chart.beyond": (" The last chart goes {n} further: tokens of the last round that came after the end of the output.",
                     "最后一张图还多出 {n} 个词元：它们属于最后一轮，但在输出结束之后。"),
    "chart.beyond.one": (" The last chart goes 1 further: a token of the last round that came after the end of the output.",
                         "最后一张图还多出 1 个词元：它属于最后一轮，但在输出结束之后。"),
    "chart.undrafted": ("Nothing was drafted: every round brought the target's own token, and no other.",
                        "没有起草：每轮只得到目标模型自己的词元。"),
    "chart.tokens": ("tokens", "词元"),
    "chart.rounds": ("Tokens per round", "每轮的词元"),
    "chart.round": ("round", "轮"),
    "chart.accepted": ("accepted", "接受"),
    "chart.bonus": ("bonus", "奖励"),
    "chart.depth": ("Acceptance by depth", "各深度的接受率"),
    "chart.least": ("drafted tokens accepted, at least", "至少接受的草稿词元数"),
    "chart.share": ("share of rounds", "轮数占比"),
    "chart.of": ("{hits} of {rounds} rounds", "{rounds} 轮中的 {hits} 轮"),
    "chart.time": ("Time of the rounds: {seconds:.1f} s on {device}", "各轮的时间：在 {device} 上共 {seconds:.1f} 秒"),
    "chart.draft": ("head: draft", "草稿头：起草"),
    "chart.verify": ("target: verify", "目标模型：验证"),
    "chart.tree": ("tree: re-rank, flatten", "树：重排、展平"),
    "chart.accept": ("accept", "接受"),
    "chart.commit": ("commit", "提交"),
    "chart.pace": ("Tokens by passes of the target", "词元数与目标模型的前向次数"),
    "chart.plain": ("plain decoding", "普通解码"),
    "chart.prefill": ("passes of the target, the prefill first", "目标模型的前向次数，首次为预填充"),
}

# The sentences of the recorded runs, which bring the English ones themselves (`gallery.json`).
RECORDED = {
    "sky-small": "从这里开始：16 个节点的小树，每一步都容易看懂。",
    "sky": "同一个问题，用论文的树：每轮 510 个候选，保留 59 个。",
    "deep": "容易的提示：第一行之后几乎别无选择，树长得很深。",
    "wide": "开放的提示：故事可以走向任何地方，树长得宽而不深。",
    "code": "代码：人人写法相同的函数；路径一直接受到树的最深处。",
    "arithmetic": "算术：短语整段通过；推理一转弯，路径就到头。",
    "sampled": "温度 0.8：孩子是否被接受由抽签决定，落选者的概率被去掉。",
    "split-characters": "中文：一个字由几个词元拼成，树里显示为字节，文字里是完整的字。",
    "storybook": "仓库里的小模型对，温度 1：有的故事烂熟于心，有的选择拿不定。",
    "lost": "草稿头几乎没见过的文字：多数轮只得到一个奖励词元，却要付出整棵树。",
}


def phrase(key: str, language: str = "en", **values) -> str:
    """A text in one language. A value that is itself `Said` is taken in the same language."""
    if values.get("n") == 1 and f"{key}.one" in TEXT:
        key += ".one"
    values = {name: value[language] if isinstance(value, dict) else value for name, value in values.items()}
    place = LANGUAGES.index(language) if language in LANGUAGES else 0  # a stranger may ask for any
    return TEXT[key][place].format(**values)


def say(key: str, **values) -> Said:
    """A text in every language, as plain data: whoever shows it chooses, and may choose again."""
    return {language: phrase(key, language, **values) for language in LANGUAGES}


def refusal(said: Said, kind: type[UserError] = UserError) -> UserError:
    """An error to raise that says the same in every language; as text it is English."""
    error = kind(said["en"])
    error.said = said
    return error


def said_by(error: Exception | str, lead: str) -> Said:
    """What an error says in every language. One of the decoder's is English; where the page is not, `lead` says before it
    what happened and what to do."""
    return getattr(error, "said", None) or say(lead, error=str(error))
