"""The errors a user can cause. The command line prints their message and exits with 2."""


class ScaleError(Exception):
    """Something the user gave cannot be used; the message says what, and what to do."""


class InputError(ScaleError, ValueError):
    """An argument, an array or a file's content does not fit."""


class NoSplitError(InputError):
    """The data has no split of that name."""


class UnknownNameError(ScaleError, KeyError):
    """A name that nothing is registered under."""

    __str__ = Exception.__str__


class DuplicateNameError(ScaleError):
    """A name that something else is already registered under."""


class ContractError(ScaleError, TypeError):
    """A method of the user's own breaks the contract of learners."""


class DamagedFileError(ScaleError):
    """A file that is not what it should be: truncated, altered or foreign."""


class UnwritableError(ScaleError):
    """A file that cannot be written where the user wants it; nothing is left half-written."""


class NonFiniteLossError(ScaleError, ArithmeticError):
    """The loss became NaN or infinite; no weight was changed by it."""


class NonFiniteFeaturesError(ScaleError, ArithmeticError):
    """The features became NaN or infinite; none are returned."""
