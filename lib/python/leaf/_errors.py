"""The exceptions, a class for each status of the library."""


class Error(Exception):
    """What is wrong, in one line. Of this class itself where none of the others fits.

    hint -- what can be done about it, or an empty text; tracebacks show it
    retryable -- True if the same call may succeed later without anybody changing anything
    """

    def __init__(self, text: str = "", hint: str = "", retryable: bool = False) -> None:
        super().__init__(text)
        self.hint = hint
        self.retryable = retryable
        if hint:
            self.add_note(f"hint: {hint}")


class UsageError(Error, ValueError):
    """An argument or the configuration is wrong, or a handle is closed; trying again cannot help."""


class Unavailable(Error):
    """The store is out of reach or did not answer in time; trying again may help."""


class NotFound(Error, LookupError):
    """There is no such tag or worker."""


class Refused(Error):
    """Refused because uniqueness could not be guaranteed."""


class Exhausted(Error):
    """No IDs are left: a tag's limit, the workers, the bits of a layout."""


for _class in (Error, UsageError, Unavailable, NotFound, Refused, Exhausted):
    _class.__module__ = "leaf"  # where they are found, by pickle too
del _class
