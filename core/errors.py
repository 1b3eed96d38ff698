"""What a person can mend: the base of every error that is one sentence saying what to do."""


class UserError(ValueError):
    """Input that cannot be used. The message names the value and the remedy; no traceback is owed."""


class PairWarning(UserWarning):
    """A pair that decodes, but not as its maker will have meant; the message is one sentence."""


class DecodeError(UserError):
    """A run that cannot start or go on; the message is one sentence that says what to do."""
