"""Named checks for the drivers in Python: each prints one line, a failed one never stops the next.

Takes what a check returns or raises; gives `ok NAME` or `FAIL NAME: why`, and `N passed, N failed` at the end.
Needs nothing but the standard library, so that every driver can use it whatever SDK it tests.
"""

import asyncio
import inspect
import traceback

DEADLINE = 30.0


class Checks:
    def __init__(self):
        self.passed = 0
        self.failed = 0

    async def run(self, name, check, *arguments):
        """Runs one check; gives its result, or None when it failed."""
        try:
            result = check(*arguments)
            if inspect.isawaitable(result):
                result = await asyncio.wait_for(result, DEADLINE)
        except TimeoutError:
            self._fail(name, f"no end within {DEADLINE:.0f} s")
        except AssertionError as wrong:
            self._fail(name, str(wrong) or traceback.format_exc(limit=-1).splitlines()[-2].strip())
        except Exception as unexpected:  # noqa: BLE001: whatever an SDK raises is the answer to the check
            self._fail(name, f"{type(unexpected).__name__}: {unexpected}")
        else:
            self.passed += 1
            print(f"ok {name}", flush=True)
            return result
        return None

    def _fail(self, name, why):
        self.failed += 1
        print(f"FAIL {name}: {' '.join(why.split())[:600]}", flush=True)

    def close(self):
        """The closing line; gives the exit code."""
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 0 if self.passed and not self.failed else 1


def equal(got, wanted, what):
    assert got == wanted, f"{what}: got {got!r}, wanted {wanted!r}"


def true(condition, why):
    assert condition, why


async def raises(error, awaitable):
    """Awaits what must raise exactly `error`; gives the exception."""
    try:
        result = await awaitable
    except error as raised:
        assert type(raised) is error, f"raised {type(raised).__name__}, not {error.__name__}: {raised}"
        return raised
    except Exception as other:  # noqa: BLE001
        raise AssertionError(f"raised {type(other).__name__} instead of {error.__name__}: {other}") from other
    raise AssertionError(f"raised nothing instead of {error.__name__}; gave {str(result)[:200]}")


async def collect(stream):
    return [event async for event in stream]


def leaves(document, path=()):
    """Every text, number and boolean of a document, with its path."""
    if isinstance(document, dict):
        for name, member in document.items():
            yield from leaves(member, (*path, name))
    elif isinstance(document, list):
        for at, element in enumerate(document):
            yield from leaves(element, (*path, at))
    else:
        yield path, document


def changed(leaf):
    """Another value of the same type."""
    if isinstance(leaf, bool):
        return not leaf
    return leaf + 1 if isinstance(leaf, (int, float)) else f"{leaf}x"


def put(document, path, value):
    for step in path[:-1]:
        document = document[step]
    document[path[-1]] = value


def pointer(path):
    return "/" + "/".join(str(step) for step in path)
