"""What a checkpoint's generation config asks for and no decoding here does: rules that change even greedy text.

Ends of a text are taken from it (`checkpoint.py`); lengths and sampling are settings of a run, never the checkpoint's.
"""

from __future__ import annotations

from transformers import PreTrainedModel

from ..model.rope import RopeByLength

# The rules, by the value that changes nothing. (Not among them: what acts on sampling, on beams, or on speed alone.)
NEUTRAL = {
    1: ("repetition_penalty", "encoder_repetition_penalty", "guidance_scale", "num_beams"),
    0: ("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length", "min_new_tokens", "penalty_alpha"),
    None: ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "sequence_bias", "forced_bos_token_id",
           "forced_eos_token_id", "exponential_decay_length_penalty", "watermarking_config", "stop_strings", "max_time",
           "token_healing", "constraints", "force_words_ids", "dola_layers"),
}


def rules_left_out(model: PreTrainedModel) -> tuple[str, ...]:
    """The rules that the model's own `generate` would follow, with their values where these are numbers.

    transformers has read them from generation_config.json, or from config.json where that file is absent.
    """
    config, found = model.generation_config, []
    for neutral, names in NEUTRAL.items():
        for name in names:
            value = getattr(config, name, None)
            if value is None or value is False or value == neutral or value in ([], {}):
                continue
            found.append(f"{name} {value}" if type(value) in (int, float) else name)
    if config.use_cache is False and isinstance(model.model.rotary_emb, RopeByLength):
        found.append("use_cache false")  # all rows anew each time, turned as the last one asks for
    if config.cache_implementation == "quantized":  # the other kinds of caches hold the same numbers
        found.append("cache_implementation quantized")
    return tuple(found)


def sentence(rules: tuple[str, ...]) -> str:
    return (f"The target's generation config asks for {', '.join(rules)}, which is not applied here, so transformers' "
            "generate may write another text.")
