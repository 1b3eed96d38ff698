"""Two small tokenizers of the kinds that Llamas have, built in a moment."""

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

CORPUS = ["the cat sat on the mat, the end", "there is the theory of everything here and there", "das Mädchen über Öl"]
CHAT = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}<|end|>{% endif %}"


def byte_level(vocab_size=280, chat=True):
    """GPT-2's kind (SmolLM2, Llama-3): every byte is a character of its own alphabet, a space is Ġ.

    Ids: 0 <|end|>, 1 <|user|> (special), then 256 bytes, then merges; <tool> is an added word that is not special.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=["<|end|>", "<|user|>"]))
    tokenizer.add_tokens([AddedToken("<tool>", special=False)])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    if chat:
        fast.chat_template = CHAT
    return fast


def byte_fallback():
    """SentencePiece's kind (Llama-2): a space is ▁, what has no piece falls back to bytes like <0xF0>."""
    words = ["▁", *"abcdefghijklmnopqrstuvwxyz,.", "th", "the", "▁the", "▁c", "at", "▁cat"]
    vocab = {word: i for i, word in enumerate(["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *words])}
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "c"), ("a", "t"), ("▁c", "at")]
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                           decoders.Strip(" ", 1, 0)])
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
