"""The ranks of a torch.distributed process group, and what those that share a decode hand to one another.

Bytes travel over connections by Gloo of our own between the group's members, made at the first decode. So the caller's group
carries what it likes at the same time, may be NCCL's, and outlives a decode that fails. Members meet in the group's store:

    headroom/0/...        where the first connections are made
    headroom/0/ended      why the first rank that failed with these did; all that come later meet at headroom/1
"""

from __future__ import annotations

import ctypes
import datetime
import threading
import time
import weakref
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Callable

from .errors import ExchangeError, InputError
from .fork_aware_lock import ForkAwareLock

Span = tuple[int, int]
"""Address and bytes."""

ENDED = "ended"
"""Where ranks met: why the first one that failed did."""

PATIENCE_SECONDS = 1.0
"""So long is waited for what a rank has to say whose connection has closed."""


class Refused(Exception):
    """Carries an error that all ranks raise at the same point. Nothing is on its way, so connections stay."""

    def __init__(self, error: Exception):
        super().__init__(str(error))
        self.error = error


def one_line(error: BaseException) -> str:
    """What others are told of an error."""
    return (str(error).splitlines() or [""])[0] or type(error).__name__


class GroupExchange:
    """One rank's way to the others. Calls are made by one thread at a time, which holds ``lock``. They raise ExchangeError
    naming the rank that has ended, or that did not answer within the group's timeout."""

    def __init__(self, group: Any):
        import torch.distributed as dist

        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.lock = ForkAwareLock()
        self.timeout = _timeout_of(group)
        self.sent_bytes = 0
        """Of messages and, to each other rank, of gathered values."""
        self._store = _store_of(group)
        self._meeting: Any = None  # the part of the store where ranks have met last
        self._meetings = 0  # of which it is known that they have ended
        self._connected: Any = None  # our group; None before the first decode, and after one that failed
        self._why = "not open"
        self._pending: dict[int, tuple[int, list, list]] = {}  # by ticket: the peer, what completes, tensors that must stay
        self._next_ticket = 0

    @property
    def is_open(self) -> bool:
        return self._connected is not None

    def open(self) -> None:
        """Meets the other ranks, where it has not or the last decode of one of them failed."""
        ended = self._failure() if self._connected is not None else None
        if ended is not None:
            self._cut(ended)
        if self._connected is None:
            self._meet()

    def _meet(self) -> None:
        import torch.distributed as dist

        try:
            while True:
                self._meeting = dist.PrefixStore(f"headroom/{self._meetings}", self._store)
                if not self._meeting.check([ENDED]):
                    break
                self._meetings += 1
        except RuntimeError:
            raise ExchangeError("the store of the process group has ended") from None
        meeting = self._meeting
        try:
            self._connected = _apart(lambda: dist.ProcessGroupGloo(meeting, self.rank, self.size, self.timeout))
        except RuntimeError as error:
            why = f"in {self.timeout.total_seconds():g} s" if _timed_out(error) else f"({_reason(error)})"
            raise ExchangeError(self._tell(f"the group's {self.size} ranks did not come together {why}")) from None
        except BaseException as error:  # Ctrl-C meanwhile
            self.abandon(one_line(error))
            raise

    # What the decode calls.

    def post(self, sends: list[tuple[int, list[Span]]], receives: list[tuple[int, list[Span]]]) -> tuple[list[int], list[int]]:
        """Begins to send and to receive, and returns a ticket for each message. Memory must stay until it was waited for."""
        received = [self._begin(peer, [_bytes(*span) for span in spans if span[1]], False) for peer, spans in receives]
        return [self._begin(peer, [_bytes(*span) for span in spans if span[1]], True) for peer, spans in sends], received

    def wait(self, ticket: int) -> None:
        """Until all of it has been sent or received."""
        peer, works, _ = self._pending[ticket]
        self._complete(f"rank {peer}", lambda: [work.wait(self.timeout) for work in works])
        del self._pending[ticket]

    def gather(self, own: int, all_: int, count: int) -> None:
        """So many doubles of each rank at one address, those of all ranks to another."""
        import torch

        values = torch.frombuffer(_memory(all_, count * self.size * 8), dtype=torch.float64).view(self.size, count)
        self._gather(torch.frombuffer(_memory(own, count * 8), dtype=torch.float64), list(values.unbind()))

    def abandon(self, why: str) -> None:
        """This rank ends here, and tells the others in one line. The next decode meets them again."""
        if self._meeting is not None:
            self._cut(self._tell(f"rank {self.rank} ended: {why}"))

    def drop(self) -> None:
        """Memory of what is on its way goes now. The others are told why by abandon()."""
        self._cut("it stopped while bytes were on their way")

    # Around it.

    def gather_texts(self, text: str) -> list[str]:
        """Every rank's."""
        import torch

        own = text.encode()
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        self._gather(torch.tensor([len(own)]), lengths)
        padded = torch.zeros(max(1, *(int(length) for length in lengths)), dtype=torch.uint8)
        padded[: len(own)] = torch.tensor(list(own), dtype=torch.uint8)
        texts = [torch.empty_like(padded) for _ in range(self.size)]
        self._gather(padded, texts)
        return [bytes(one[: int(length)].tolist()).decode() for one, length in zip(texts, lengths)]

    def hand_out(self, text: str | None) -> str:
        """Rank 0's text, on all ranks."""
        import torch

        length = torch.tensor([len(text.encode()) if self.rank == 0 else 0])
        self._broadcast(length)
        values = bytearray(text.encode() if self.rank == 0 else int(length))
        self._broadcast(torch.frombuffer(values, dtype=torch.uint8))
        return values.decode()

    def complete_picture(self, picture: Any, rows: list[tuple[int, int]], receivers: list[int]) -> None:
        """Gives these ranks the rows of a contiguous N×C×…×H×W tensor that other ranks have: `rows` by rank."""
        height, width = picture.shape[-2:]
        planes = picture.view(-1, height, width).unbind()

        def of(rank: int) -> list:
            first, last = rows[rank]
            return [plane[first:last] for plane in planes] if last > first else []

        others = [rank for rank in range(self.size) if rank != self.rank]
        tickets = [self._begin(rank, of(rank), False) for rank in others if self.rank in receivers]
        tickets += [self._begin(rank, of(self.rank), True) for rank in others if rank in receivers]
        for ticket in tickets:
            self.wait(ticket)

    def _begin(self, peer: int, tensors: list, sending: bool) -> int:
        self._require_open()
        move = self._connected.send if sending else self._connected.recv
        works = self._attempt(f"rank {peer}", lambda: [move([tensor], peer, 0) for tensor in tensors])
        self.sent_bytes += sum(tensor.numel() * tensor.element_size() for tensor in tensors) if sending else 0
        ticket, self._next_ticket = self._next_ticket, self._next_ticket + 1
        self._pending[ticket] = peer, works, tensors
        return ticket

    def _gather(self, own: Any, all_: list) -> None:
        self._collective(lambda: self._connected.allgather([all_], [own]))
        self.sent_bytes += own.numel() * own.element_size() * (self.size - 1)

    def _broadcast(self, values: Any) -> None:
        self._collective(lambda: self._connected.broadcast(values, 0))
        self.sent_bytes += values.numel() * values.element_size() * (self.size - 1) if self.rank == 0 else 0

    def _collective(self, begin: Callable[[], Any]) -> None:
        self._require_open()
        work = self._attempt("another rank", begin)
        self._complete("another rank", lambda: work.wait(self.timeout))

    # Failures. The first rank that has one says so in the store and closes its connections; the others' waits end with
    # that, they read the store, and close theirs.

    def _require_open(self) -> None:
        if self._connected is None:
            raise ExchangeError(self._why)

    def _attempt(self, who: str, begin: Callable[[], Any]) -> Any:
        try:
            return begin()
        except Exception as error:
            self._fail(who, error)

    def _complete(self, who: str, wait: Callable[[], Any]) -> None:
        self._require_open()
        try:
            _apart(wait)
        except Exception as error:
            self._fail(who, error)
        except BaseException as error:  # Ctrl-C while it waits
            self.abandon(one_line(error))
            raise

    def _fail(self, who: str, error: Exception) -> None:
        if _timed_out(error):
            self._cut(self._tell(f"{who} did not answer in {self.timeout.total_seconds():g} s"))
        else:
            self._await_reason()
            self._cut(self._tell(f"{who} has ended ({_reason(error)})"))
        raise ExchangeError(self._why)

    def _await_reason(self) -> None:
        """A rank closes its connections before it says why, where memory goes first; one that was killed says nothing."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self._failure() is None and time.monotonic() < until:
            time.sleep(0.02)

    def _tell(self, line: str) -> str:
        """Why the first rank that failed did."""
        with suppress(Exception):  # the store may have ended, too
            return self._meeting.compare_set(ENDED, "", line).decode()
        return line

    def _failure(self) -> str | None:
        with suppress(Exception):
            return self._meeting.get(ENDED).decode() if self._meeting.check([ENDED]) else None
        return "the store of the process group has ended"

    def _cut(self, why: str) -> None:
        """Closes our connections: from here on nothing is read or written, and the other ranks' waits end."""
        import torch

        connected, self._connected, self._why = self._connected, None, why
        for rank in range(self.size) if connected is not None else ():
            if rank == self.rank:
                continue
            # Gloo closes all connections where a wait for one of them ends by its timeout.
            with suppress(Exception):
                connected.recv([torch.empty(1)], rank, 1).wait(datetime.timedelta(milliseconds=1))
        self._pending.clear()


_exchanges: weakref.WeakKeyDictionary[Any, GroupExchange] = weakref.WeakKeyDictionary()


def exchange_of(group: Any) -> GroupExchange:
    """The one of a torch.distributed process group that this process is a member of. Raises InputError."""
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise InputError("group: expected torch.distributed with its process group initialised")
    if not isinstance(group, dist.ProcessGroup):
        raise InputError(f"group: expected a process group of torch.distributed that this process is a member of, found {group!r}")
    if group not in _exchanges:
        _exchanges[group] = GroupExchange(group)
    return _exchanges[group]


def _apart(call: Callable[[], Any]) -> Any:
    """What a call returns or raises. It is not in the caller's thread, where it would hold up signals."""
    done: Future = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="headroom-wait", daemon=True).start()
    return done.result()


def _timed_out(error: Exception) -> bool:
    return "imed out" in str(error) or "imeout" in one_line(error)


def _reason(error: Exception) -> str:
    """Of a failed connection, without the place in its source that the message begins with."""
    text = one_line(error)
    return text.rpartition("] ")[2] or text


def _timeout_of(group: Any) -> datetime.timedelta:
    import torch
    from torch.distributed.constants import default_pg_timeout

    for device in ("cpu", "cuda"):
        with suppress(Exception):
            return group._get_backend(torch.device(device)).options._timeout
    return default_pg_timeout


def _store_of(group: Any) -> Any:
    if hasattr(group, "get_group_store"):
        return group.get_group_store()
    from torch.distributed.distributed_c10d import _get_process_group_store

    return _get_process_group_store(group)


def _memory(address: int, bytes_: int) -> ctypes.Array:
    return (ctypes.c_char * bytes_).from_address(address)


def _bytes(address: int, bytes_: int) -> Any:
    import torch

    return torch.frombuffer(_memory(address, bytes_), dtype=torch.uint8)
