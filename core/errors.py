"""What a person can mend: the base of every error that is one sentence saying what to do."""


class UserError(ValueError):
    """Input that cannot be used. The message names the value and the remedy; no traceback is owed."""
