"""From what a person typed to the token ids a target reads."""

from __future__ import annotations

from jinja2 import TemplateError

from ..common.records import read_text
from ..errors import DecodeError, UserError
from ..model.pair import Pair

# Words for targets whose tokenizers carry none. Vicuna's (v1.1 and later) are FastChat's: a space after the system's
# words and after a user's, none after an answer, and <s> before it all, which FastChat leaves to the tokenizer.
FAMILIES = {"vicuna": (
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ messages[0]['content'] }}{% else %}A chat between a "
    "curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and polite answers to "
    "the user's questions.{% endif %}{{ ' ' }}{% for message in messages %}{% if message['role'] == 'user' %}USER: "
    "{{ message['content'] }}{{ ' ' }}{% elif message['role'] == 'assistant' %}ASSISTANT: {{ message['content'] }}</s>"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)}

PROBE = "Qzx0-jWv7"  # a word that no template says by itself


def encode(pair: Pair, text: str, chat: bool = False) -> list[int]:
    """Token ids of `text`, as it stands or as a user's turn in the model's chat template. Raises DecodeError."""
    tokenizer = pair.tokenizer
    if tokenizer is None:
        raise DecodeError(f"{pair.name} has no tokenizer; give token ids with --ids instead of text.")
    if not text:
        raise DecodeError("The prompt is empty; type something to decode.")
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that a terminal passed on although they are no text
        raise DecodeError(f"The prompt {text[:40]!r} is not valid UTF-8 text; type it again.") from None
    try:
        ids = _chat_ids(pair, text) if chat else tokenizer(text, verbose=False)["input_ids"]
    except DecodeError:
        raise
    except Exception as error:  # tokenizers raises bare Exceptions, where a word has no id, for one
        raise DecodeError(f"The tokenizer of {pair.name} cannot read the prompt ({_reason(error)}); type another."
                          ) from None
    for i in ids:
        if i >= pair.target.vocab_size:
            raise DecodeError(f"The prompt holds {tokenizer.convert_ids_to_tokens(i)!r}, which is token {i} to the "
                              f"tokenizer, but the target of {pair.name} has only tokens 0 to "
                              f"{pair.target.vocab_size - 1}; leave it out"
                              + (", or decode without --chat." if chat else "."))
    return ids


def _chat_ids(pair: Pair, text: str) -> list[int]:
    turn, tokenizer = user_turn(pair, text), pair.tokenizer
    begin = []
    if tokenizer.chat_template in FAMILIES.values() and tokenizer.bos_token and turn.startswith(tokenizer.bos_token):
        begin = [tokenizer.bos_token_id]  # by its id: what follows begins a text, which some tokenizers spell otherwise
        turn = turn.removeprefix(tokenizer.bos_token)
    return begin + tokenizer(turn, add_special_tokens=False, verbose=False)["input_ids"]


def user_turn(pair: Pair, text: str) -> str:
    """`text` as the only turn of a chat, the answer opened, in the words of the model's chat template. The turn's
    content is the text, or one part that holds it where the template reads parts and would lose a text. Raises
    DecodeError."""
    template, failures = _template(pair), []

    def render(content) -> str:
        return pair.tokenizer.apply_chat_template([{"role": "user", "content": content}], chat_template=template,
                                                  tokenize=False, add_generation_prompt=True)

    for form in (str, lambda words: [{"type": "text", "text": words}]):
        try:
            turn = render(form(text))
            if PROBE in render(form(PROBE)) and text.strip() in turn and "'type': 'text'" not in turn.replace(text, ""):
                return turn
            failures.append("what the user says is lost in it")
        except Exception as error:  # a template is a program of somebody else's
            failures.append(_reason(error))
    raise DecodeError(f"The chat template of {pair.name} does not work ({failures[0]}); decode without --chat, or give "
                      "another with --chat-template.")


def _reason(failure: Exception) -> str:
    said = " ".join(str(failure).split()).rstrip(".:")[:200]
    if isinstance(failure, TemplateError) and said:
        return said
    return f"{type(failure).__name__}: {said}" if said else type(failure).__name__


def _template(pair: Pair) -> str:
    """The template that applies: the only one, or of several the default."""
    known = pair.tokenizer.chat_template
    if not known:
        raise DecodeError(f"The tokenizer of {pair.name} has no chat template; decode without --chat, or give one with "
                          "--chat-template.")
    if isinstance(known, dict) and "default" not in known:
        raise DecodeError(f"{pair.name} has the chat templates {', '.join(sorted(known))} and no default; choose one "
                          "with --chat-template.")
    return known["default"] if isinstance(known, dict) else known


def choose_template(pair: Pair, choice: str) -> None:
    """Make `choice` the pair's chat template: one of its tokenizer's by name, a family's of ours, or a file of Jinja.
    Raises DecodeError."""
    if pair.tokenizer is None:
        raise DecodeError(f"{pair.name} has no tokenizer, so no chat template applies; leave out --chat-template.")
    known = pair.tokenizer.chat_template
    named = FAMILIES | (known if isinstance(known, dict) else {})
    if choice in named:
        pair.tokenizer.chat_template = named[choice]
        return
    try:
        template = read_text(choice, "The chat template")
    except UserError as error:
        raise DecodeError(f"--chat-template is {choice!r}: there is no template of that name "
                          f"({', '.join(sorted(named))}), and as a file: {str(error).removesuffix('; give a text file.')}.") from None
    pair.tokenizer.chat_template = template
