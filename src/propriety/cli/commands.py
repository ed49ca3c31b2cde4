"""What makes a function a command: groups of options as its parameters, and errors as exit codes."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import socket
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, ClassVar, NoReturn, get_type_hints

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from propriety.cached_properties import cached_property
from propriety.cli.names import named_option
from propriety.cli.output import UsageError, show_error
from propriety.errors import ArgumentError

#: Exit codes; 1 is a fault of the program, 130 an interruption, 143 a termination.
USAGE, BAD_TABLE, BAD_MODEL, NOT_WRITTEN, INTERRUPTED, TERMINATED = 2, 3, 4, 5, 130, 143

_AS_JSON = "propriety.as_json"
_AGAIN, _TIMES = 1.0, 20  # seconds until a signal is repeated; how often, before nothing more is hoped for
#: What is raised for arguments that cannot be read; where its class lives depends on the version of Typer.
_WRONG_USE: Any = typer.BadParameter.__bases__[0]


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a command: see `with_groups` and `guarded`."""
    return guarded(with_groups(function))


def with_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """A parameter that is a dataclass becomes one parameter for each of its fields.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int = 1
    ...     height: int = 2
    >>> def area(name: str, *, size: Size) -> str:
    ...     return f"{name} {size.width * size.height}"
    >>> inspect.signature(with_groups(area))
    <Signature (name: str, *, width: int = 1, height: int = 2)>
    >>> with_groups(area)("a", height=5)
    'a 5'
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in groups:
            kinds = get_type_hints(groups[name], include_extras=True)
            parameters += [
                inspect.Parameter(f.name, parameter.kind, default=f.default, annotation=kinds[f.name])
                for f in fields(groups[name])
            ]
        else:
            parameters.append(parameter.replace(annotation=hints[name]))

    @functools.wraps(function)
    def flat(*args: Any, **kwargs: Any) -> Any:
        for name, kind in groups.items():
            given = {f.name: kwargs.pop(f.name) for f in fields(kind) if f.name in kwargs}
            kwargs[name] = kind(**given)
        return function(*args, **kwargs)

    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


class LazyCommand(TyperCommand):
    """A command whose module is imported when it runs, or when its own help is shown."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary, rich_markup_mode="rich")
        self._module = module

    @cached_property
    def loaded(self) -> Any:
        """The command itself, whose help is text: what stands in brackets in it is no markup."""
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False)
        alone.command(self.name)(getattr(import_module(self._module), f"{self.name}_command"))
        loaded: Any = get_command(alone)
        for one in (loaded, *loaded.params):
            one.help = escape(getattr(one, "help", None) or "")
        return loaded

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read its arguments."""
        return self.loaded.make_context(info_name, args, parent, **extra)


class CommandGroup(TyperGroup):
    """Commands; arguments that cannot be read are a JSON document too, where one is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read what stands before the name of the command."""
        ctx.meta[_AS_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of a command, and run it."""
        try:
            return super().invoke(ctx)
        except _WRONG_USE as error:
            if not ctx.meta[_AS_JSON]:
                raise
            _fail(error.format_message(), "", USAGE, as_json=True)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn the errors that a user can mend into a message and an exit code, without a traceback."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        as_json = bool(kwargs.get("as_json"))
        try:
            with ending_in_order():
                return function(*args, **kwargs)
        except _table_error() as error:
            _fail(named_option(error, known), error.advice, BAD_TABLE, as_json)
        except _model_file_error() as error:
            _fail(str(error), "", BAD_MODEL, as_json)
        except UsageError as error:
            _fail(str(error), "", USAGE, as_json)
        except ArgumentError as error:
            _fail(named_option(error, known), "", USAGE, as_json)
        except BrokenPipeError:
            # Whoever read the output has seen enough.
            sys.stderr.close()
            raise typer.Exit(0) from None
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            _fail(what, "", NOT_WRITTEN, as_json)
        except MemoryError:
            _fail(
                "there is not enough memory for this table", "use fewer rows or columns", BAD_TABLE, as_json
            )
        except KeyboardInterrupt:
            _fail("interrupted", "", INTERRUPTED, as_json)

    return run


# What may be raised is imported when something is.
def _table_error() -> Any:
    from propriety.tables.errors import TableError

    return TableError


def _model_file_error() -> Any:
    from propriety.storage import ModelFileError

    return ModelFileError


class _Termination(SystemExit):
    """The exit that SIGTERM asks for; those that nobody has swallowed are under way."""

    under_way: ClassVar[weakref.WeakSet[_Termination]] = weakref.WeakSet()

    def __init__(self) -> None:
        super().__init__(TERMINATED)
        self.under_way.add(self)


@contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM as an exit, so that what was begun is cleaned up; a handler that is there already stays."""
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
    ):
        yield
        return

    import pyarrow as pa

    asked: list[bool] = []

    def end(*_: Any) -> None:
        asked.append(True)
        if not _Termination.under_way:  # else a repetition, which must not disturb the cleaning up
            raise _Termination

    # Arrow's handler, in place of this one while text is parsed, loses what comes when it is about to leave.
    pa.enable_signal_handlers(False)
    signal.signal(signal.SIGTERM, end)
    try:
        with _repeating():
            yield
    except Exception:
        if asked:  # an exit that was raised while a class is made comes out as a RuntimeError
            raise SystemExit(TERMINATED) from None
        raise
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        pa.enable_signal_handlers(True)


@contextmanager
def _repeating() -> Iterator[None]:
    """Repeat a SIGTERM to this thread until the block ends, since one alone may come to nothing.

    Python calls a handler between two instructions of its own. A signal that comes when the last of them
    before a read is done, but the read has not begun to wait, is looked at when the read ends: perhaps never.
    And an exit that is raised in a destructor is ignored. If none gets under way, because this thread waits
    in a library that looks at no signal, the process ends without cleaning up.
    """
    if not hasattr(signal, "pthread_kill"):  # Windows, where nobody sends SIGTERM
        yield
        return
    hearing, telling = socket.socketpair()
    telling.setblocking(False)
    over, waiting = threading.Event(), threading.get_ident()

    def repeat() -> None:
        while not over.is_set() and hearing.recv(1) != bytes([signal.SIGTERM]):
            pass
        times = 0
        while not over.wait(_AGAIN):
            if times >= _TIMES and not _Termination.under_way:
                os._exit(TERMINATED)
            signal.pthread_kill(waiting, signal.SIGTERM)
            times += 1

    with hearing, telling:
        before = signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
        repeater = threading.Thread(target=repeat, name="propriety-termination", daemon=True)
        repeater.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            over.set()
            with suppress(BlockingIOError):  # full of signals, which wake it as well
                telling.send(b"\0")
            repeater.join()


if hasattr(os, "register_at_fork"):
    # A child that is ended must not tell its parent's thread, which would end the parent.
    os.register_at_fork(after_in_child=functools.partial(signal.set_wakeup_fd, -1))


def _fail(problem: str, advice: str, code: int, as_json: bool) -> NoReturn:
    show_error(problem, advice, code, as_json=as_json)
    raise typer.Exit(code)
