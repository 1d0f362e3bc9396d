"""Lists the module files a Python program can load. Run by that program's own interpreter, as a script.

    python module_scan.py < [{"module": NAME, "path0": DIR} | {"script": PATH, ...} | {"code": TEXT, ...}, ...]

Each program of the list is answered for as if it had been asked for alone; what several load is read once.
Standard library only, any Python from 3.10 on. Nothing of the program is executed: imports are read from
the source text (also those inside functions) and followed through the interpreter's own finders, so that
virtual environments and editable installs are seen as the program sees them. What a program imports by a
computed name is covered where it lies in a package of the program's own: those are listed whole.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import re
import sys
import sysconfig
from collections.abc import Iterator

_FROM = re.compile(rb"^[ \t]*from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\r?\n)*)", re.M)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([^\n#;]+)", re.M)
_DYNAMIC = re.compile(rb"(?:import_module|__import__)\(\s*[\"']([\w.]+)[\"']")
_NAME = re.compile(rb"[\w.]+")
_SUFFIXES = (".py", ".so")
_MAX_FILES = 20_000


def imports_of(source: bytes, package: str) -> Iterator[str]:
    """Absolute dotted names that `source`, a module of `package`, imports. `from a import b` gives both."""
    for match in _IMPORT.finditer(source):
        for part in match[1].split(b","):
            if name := _NAME.match(part.strip()):
                yield name[0].decode()
    for match in _DYNAMIC.finditer(source):
        yield match[1].decode()
    for match in _FROM.finditer(source):
        base = absolute(match[1].decode(), package)
        if base is None:
            continue
        yield base
        listed = re.sub(rb"#[^\n]*|\\\r?\n", b"", match[2]).strip(b"()")
        for part in listed.split(b","):
            if name := _NAME.match(part.strip()):
                yield f"{base}.{name[0].decode()}"


def absolute(name: str, package: str) -> str | None:
    """`..x` in package `a.b` is `a.x`; None when it climbs out."""
    dots = len(name) - len(name.lstrip("."))
    if dots == 0:
        return name
    parts = package.split(".") if package else []
    if dots > len(parts):
        return None
    kept = parts[: len(parts) - dots + 1]
    return ".".join([*kept, *([name[dots:]] if name[dots:] else [])])


_FOUND: dict[tuple[str | None, str], tuple[str | None, list[str], frozenset[str]]] = {}
"""By first folder and dotted name: its file, the folders of its submodules, and what it imports."""


class Scan:
    """The modules found so far: dotted name to file. Packages are the folders their submodules lie in."""

    def __init__(self, path0: str | None) -> None:
        self.files: dict[str, str] = {}
        self.folders: dict[str, list[str]] = {}
        self.missing: set[str] = set()
        self._path0 = path0
        self._todo: list[frozenset[str]] = []

    def follow(self, source: bytes, package: str) -> None:
        self._todo.append(frozenset(imports_of(source, package)))
        while self._todo and len(self.files) < _MAX_FILES:
            for name in self._todo.pop():
                self.load(name)

    def load(self, name: str) -> None:
        """Finds `name` and every package above it, as importing it would."""
        parts = name.split(".")
        for depth in range(1, len(parts) + 1):
            dotted = ".".join(parts[:depth])
            if dotted in self.missing:
                return
            if dotted not in self.files and dotted not in self.folders and not self._find(dotted):
                self.missing.add(dotted)
                return

    def _find(self, name: str) -> bool:
        key = self._path0, name
        if key not in _FOUND:
            parent, _, child = name.rpartition(".")
            file, folders = self._submodule(parent, child) if parent else self._top(name)
            source = file is not None and file.endswith(".py")
            package = name if folders else parent
            _FOUND[key] = file, folders, frozenset(imports_of(read(file), package)) if file and source else frozenset()
        file, folders, imports = _FOUND[key]
        if folders:
            self.folders[name] = folders
        if file:
            self.files[name] = file
            self._todo.append(imports)
        return bool(file or folders)

    def _top(self, name: str) -> tuple[str | None, list[str]]:
        if name in sys.stdlib_module_names and not self._shadows(name):
            return None, []
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            return None, []
        if spec is None:
            return None, []
        file = spec.origin if spec.has_location and spec.origin and os.path.isfile(spec.origin) else None
        return file, list(spec.submodule_search_locations or [])

    def _shadows(self, name: str) -> bool:
        if self._path0 is None:
            return False
        at = os.path.join(self._path0, name)
        return os.path.isfile(at + ".py") or os.path.isfile(os.path.join(at, "__init__.py"))

    def _submodule(self, parent: str, child: str) -> tuple[str | None, list[str]]:
        namespace = []
        for folder in self.folders.get(parent, ()):
            at = os.path.join(folder, child)
            if os.path.isfile(init := os.path.join(at, "__init__.py")):
                return init, [at]
            if os.path.isfile(at + ".py"):
                return at + ".py", []
            if compiled := _compiled(folder, child):
                return compiled, []
            if os.path.isdir(at):
                namespace.append(at)
        return None, namespace

    def with_own_packages(self, site: tuple[str, ...]) -> list[str]:
        """The files found, and beside them all module files of the folders that are the program's own packages."""
        found = set(self.files.values())
        for name, folders in self.folders.items():
            for folder in folders:
                if not folder.startswith(site) and os.path.isdir(folder) and not self._is_a_mere_step(name):
                    names = (name for name in os.listdir(folder) if name.endswith(_SUFFIXES))
                    found.update(os.path.join(folder, name) for name in names)
        return sorted(found)

    def _is_a_mere_step(self, package: str) -> bool:
        """A package with nothing in it that was only gone through, to a package below."""
        below = [name for name in (*self.files, *self.folders) if name.rpartition(".")[0] == package]
        init = self.files.get(package)
        empty = init is None or not read(init).strip()
        return empty and bool(below) and all(name in self.folders for name in below)


def _compiled(folder: str, child: str) -> str | None:
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        if os.path.isfile(at := os.path.join(folder, child + suffix)):
            return at
    return None


def read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def site_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[key] + os.sep for key in ("purelib", "platlib", "stdlib", "platstdlib")})


def scanned(entry: dict[str, str | None]) -> dict[str, object]:
    path0, script = entry.get("path0"), entry.get("script")
    scan = Scan(path0)
    if module := entry.get("module"):
        scan.load(module)
        scan.load(f"{module}.__main__")
        scan.follow(b"", "")
    elif script:
        scan.follow(read(script), "")
    else:
        scan.follow((entry["code"] or "").encode(), "")
    site = site_folders()
    return {
        "version": sys.version.split()[0],
        "site": site,
        "files": scan.with_own_packages(site),
        # A console script beside the interpreter was written by an installer: it says nothing of its own.
        "script": None if script and os.path.dirname(script) == os.path.dirname(sys.executable) else script,
    }


def main() -> None:
    entries = json.load(sys.stdin)
    # Python put this script's own folder first, unless told not to; the program would have had `path0` there.
    if sys.path and sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    own_path = list(sys.path)
    found = []
    for entry in entries:
        path0 = entry.get("path0")
        sys.path[:] = own_path if path0 is None else [path0, *own_path]
        importlib.invalidate_caches()
        found.append(scanned(entry))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
