"""``cached_property`` without a lock.

That of Python 3.11 has one lock for a property of all objects, held while a value is computed: threads wait
for each other though they ask different objects, for ever if one of them needs what another does next; and
the child of a fork never gets it. Here, as in later versions, two threads may both compute the value.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once and kept by the object."""

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


__all__ = ["cached_property"]
