"""Errors that a user can cause. The command line prints the message and exits with its status."""


class ScaleError(Exception):
    """Something the user gave cannot be used; the message says what, and what to do."""

    exit_status = 2


class InputError(ScaleError, ValueError):
    """An argument, an array or a file's content is not allowed."""


class NoSplitError(InputError):
    """The data has no split of that name."""


class UnknownNameError(ScaleError, KeyError):
    """Nothing is registered under this name."""

    __str__ = Exception.__str__


class DuplicateNameError(ScaleError):
    """Something else is registered under this name."""


class ContractError(ScaleError, TypeError):
    """A user's own method breaks the contract of learners."""


class DamagedFileError(ScaleError):
    """A file is truncated, altered, or of another kind than expected."""


class UnwritableError(ScaleError):
    """A file cannot be written at its path; nothing is left half-written."""


class NonFiniteLossError(ScaleError, ArithmeticError):
    """The loss became NaN or infinite; the weights are unchanged."""


class NonFiniteFeaturesError(ScaleError, ArithmeticError):
    """The features became NaN or infinite; none are returned."""
