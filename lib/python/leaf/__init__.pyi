import os
from array import array
from datetime import datetime
from types import TracebackType
from typing import Final, Iterator, Optional, SupportsIndex, Type, TypeVar, Union, final

from . import aio as aio
from ._errors import Error as Error
from ._errors import Exhausted as Exhausted
from ._errors import NotFound as NotFound
from ._errors import Refused as Refused
from ._errors import Unavailable as Unavailable
from ._errors import UsageError as UsageError
from ._records import Bounds as Bounds
from ._records import Decoded as Decoded
from ._records import TagInfo as TagInfo

__version__: Final[str]
libleaf_version: Final[str]

_Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_Time = Union[datetime, SupportsIndex]
_Self = TypeVar("_Self", bound=_Closable)

class _Closable:
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self: _Self) -> _Self: ...
    def __exit__(
        self,
        type: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...

@final
class Allocator(_Closable):
    @property
    def store(self) -> str: ...
    def tag(self, name: str, /) -> Tag: ...

@final
class Tag(_Closable, Iterator[int]):
    @property
    def name(self) -> str: ...
    def __iter__(self) -> Tag: ...
    def __next__(self) -> int: ...
    def try_next(self) -> Optional[int]: ...
    def take(self, count: SupportsIndex, /) -> array[int]: ...
    def range(self, at_most: SupportsIndex, /) -> range: ...

@final
class Snowflake(_Closable, Iterator[int]):
    @property
    def worker(self) -> int: ...
    @property
    def layout(self) -> Layout: ...
    def __iter__(self) -> Snowflake: ...
    def __next__(self) -> int: ...
    def try_next(self) -> Optional[int]: ...
    def take(self, count: SupportsIndex, /) -> array[int]: ...

@final
class Store(_Closable):
    def add(
        self,
        name: str,
        /,
        *,
        step: Optional[SupportsIndex] = None,
        start: Optional[SupportsIndex] = None,
        limit: Optional[SupportsIndex] = None,
        description: Optional[str] = None,
    ) -> None: ...
    def tag(self, name: str, /) -> TagInfo: ...
    def tags(self) -> list[TagInfo]: ...

@final
class Layout:
    def __new__(cls, text: Union[str, Layout], /) -> Layout: ...
    def decode(self, id: SupportsIndex, /) -> Decoded: ...
    def encode(self, time: _Time, worker: SupportsIndex = 0, sequence: SupportsIndex = 0) -> int: ...
    def bounds(self, start: _Time, end: _Time) -> Bounds: ...

def allocator(
    store: Optional[str] = None,
    *,
    runtime_dir: Optional[_Path] = None,
    config_file: Optional[_Path] = None,
    program: Optional[str] = None,
    timeout: Optional[float] = None,
    host_buffer: Optional[bool] = None,
    group: Optional[bool] = None,
    use_host_defaults: Optional[bool] = None,
) -> Allocator: ...
def snowflake(
    store: Optional[str] = None,
    *,
    runtime_dir: Optional[_Path] = None,
    config_file: Optional[_Path] = None,
    program: Optional[str] = None,
    timeout: Optional[float] = None,
    host_buffer: Optional[bool] = None,
    group: Optional[bool] = None,
    use_host_defaults: Optional[bool] = None,
    worker_name: Optional[str] = None,
    layout: Union[str, Layout, None] = None,
) -> Snowflake: ...
def store(
    store: Optional[str] = None,
    *,
    runtime_dir: Optional[_Path] = None,
    config_file: Optional[_Path] = None,
    program: Optional[str] = None,
    timeout: Optional[float] = None,
    host_buffer: Optional[bool] = None,
    group: Optional[bool] = None,
    use_host_defaults: Optional[bool] = None,
) -> Store: ...
def decode(id: SupportsIndex, /, layout: Union[str, Layout] = "leaf") -> Decoded: ...
def encode(
    time: _Time,
    worker: SupportsIndex = 0,
    sequence: SupportsIndex = 0,
    layout: Union[str, Layout] = "leaf",
) -> int: ...
def bounds(start: _Time, end: _Time, layout: Union[str, Layout] = "leaf") -> Bounds: ...
