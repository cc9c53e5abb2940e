"""When a failure that every task would meet ends the run, instead of failing them all."""

from maseval.core.exceptions import MASEvalError, RunStoppedError

# A model that has answered before may refuse one request by mistake, but hardly so many.
_IN_A_ROW = 3


class LostCause:
    """Watches how repetitions end; ``error`` is why the run is not worth going on with, if so.

    A refused key, a model that does not exist or a missing library ends the run at once if the
    model has never answered, otherwise when repetition after repetition ends that way.
    """

    def __init__(self) -> None:
        self.error: MASEvalError | None = None
        self._in_a_row = 0

    def note(self, exception: BaseException | None) -> bool:
        """Take in how a repetition ended; returns whether the run should stop."""
        if not isinstance(exception, MASEvalError) or not exception.fatal_for_run:
            self._in_a_row = 0
            return False
        self._in_a_row += 1
        worked_before = exception.details.get("answered_before", False)
        if self.error is None and (not worked_before or self._in_a_row >= _IN_A_ROW):
            self.error = exception
        return self.error is not None

    def tell(self, finished: int) -> None:
        """Raise ``RunStoppedError`` if the run was stopped."""
        if self.error is not None:
            raise RunStoppedError(
                f"the run was stopped, as every other task would have failed in the same way: "
                f"{self.error}. Reports kept so far: {finished}; run again when the cause is gone",
                details={"error_type": type(self.error).__name__, **self.error.details},
            ) from self.error
