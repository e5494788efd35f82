"""The arrows of the architecture: core knows no page and no figure, viz no torch, and app comes
last.

Read from the source, so that an import anywhere in a file counts, also one inside a function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "core": {"gradio", "plotly", "networkx", "fastapi", "viz", "app"},
    "viz": {"torch", "gradio", "transformers", "numpy.random", "app"},
    "benchmarks": {"gradio", "app"},
}
VIZ_MAY_USE = {
    "core.trace",
    "core.extras",
    "core.metrics",
    *(
        f"core.compare.{name}"
        for name in (
            *("alignment", "laid", "verdict", "overlay"),
            *("comparison", "lanes", "waterfall"),
        )
    ),
}
# must import at once
LIGHT = ["core.trace", "core.extras", "core.metrics", "core.validate", "core.trace_io"]
HEAVY = {"torch", "transformers", "numpy", "gradio", "plotly"}
OUTSIDE = {
    "os",
    "io",
    "pathlib",
    "shutil",
    "tempfile",
    "socket",
    "subprocess",
    "urllib",
    "requests",
    "httpx",
}
OUTSIDE |= {"httpx2", "huggingface_hub", "threading", "multiprocessing", "platformdirs", "filelock"}
MAY_GO_OUTSIDE = (
    "core.models",
    "core.heads",
    "core.train",
    "core.measure",
    "core.measured",
    "core.stores",
    "core.json_files",
    "core.trace_io",
    "core.compare.files",
    "core.engine",  # names the folder of the weights that come along
)
CLOCKS_AND_CHANCE = {"time", "random", "secrets", "numpy.random"}
# file -> what it may use although its layer may not, and why
EXCEPTIONS = {
    "core.json_files": {"secrets"},  # the name of a temporary file
    "core.trace_schema": {"print"},  # `python -m` writes the schema to the terminal
    "core.measure.__main__": {"time"},  # what it measures
}
TORCH_CHANCE = {
    "rand",
    "randn",
    "randint",
    "randperm",
    "multinomial",
    "bernoulli",
    "manual_seed",
    "rand_like",
}
DANGEROUS = {"pickle", "marshal", "shelve", "dill", "joblib"}


def files(layer: str) -> list[Path]:
    return sorted((ROOT / layer).rglob("*.py"))


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(tree: ast.AST, with_types: bool = True) -> Iterator[str]:
    """Yield the modules that a file imports, anywhere in it; without those for type checkers on
    demand.
    """
    for node in ast.iter_child_nodes(tree):
        if is_type_checking(node) and not with_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node, with_types)


def imported(file: Path, with_types: bool = True) -> set[str]:
    return set(imports(ast.parse(file.read_text()), with_types))


def within(name: str, packages: set[str] | tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


SOURCES = [file for layer in FORBIDDEN for file in files(layer)]
every_file = pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))


def test_there_is_something_to_check() -> None:
    assert len(files("core")) > 30
    assert len(files("viz")) > 10


@every_file
def test_a_layer_imports_nothing_above_it(file: Path) -> None:
    layer = file.relative_to(ROOT).parts[0]
    found = {name for name in imported(file) if within(name, FORBIDDEN[layer])}
    assert found <= EXCEPTIONS.get(module_of(file), set())


@pytest.mark.parametrize("file", files("viz"), ids=lambda file: file.name)
def test_viz_knows_of_core_the_trace_and_the_metrics_only(file: Path) -> None:
    from_core = {name for name in imported(file) if within(name, {"core"})}
    assert all(name == "core" or within(name, VIZ_MAY_USE) for name in from_core)


def test_what_must_start_at_once_reaches_nothing_heavy_through_others() -> None:
    known = {module_of(file): file for file in files("core")}
    for name in LIGHT:
        seen, waiting = set[str](), [name]
        while waiting:
            module = waiting.pop()
            if module in seen:
                continue
            seen.add(module)
            names = imported(known[module], with_types=False)
            assert not {heavy for heavy in names if within(heavy, HEAVY)}, (name, module)
            packages = {".".join(n.split(".")[:i]) for n in names for i in range(1, 5)}
            waiting += [n for n in names | packages if n in known]


@pytest.mark.parametrize("file", files("core"), ids=lambda file: str(file.relative_to(ROOT)))
def test_core_is_pure_but_for_the_places_that_deal_with_models_and_files(file: Path) -> None:
    module = module_of(file)
    names, allowed = imported(file), EXCEPTIONS.get(module, set())
    if not within(module, MAY_GO_OUTSIDE):
        assert not {name for name in names if within(name, OUTSIDE)}
        calls = [n.func for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.Call)]
        called = {call.id for call in calls if isinstance(call, ast.Name)}
        assert called & {"open", "print", "input"} <= allowed
    if not within(module, ("core.train",)):
        assert {name for name in names if within(name, CLOCKS_AND_CHANCE)} <= allowed


@pytest.mark.parametrize("file", files("core"), ids=lambda file: str(file.relative_to(ROOT)))
def test_nothing_but_the_dice_throws(file: Path) -> None:
    if within(module_of(file), ("core.train", "core.lab.band")):  # the band is drawn at random
        return
    attributes = [
        node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)
    ]
    torch_calls = {
        n.attr for n in attributes if isinstance(n.value, ast.Name) and n.value.id == "torch"
    }
    assert not torch_calls & TORCH_CHANCE
    assert not {n.attr for n in attributes} & {
        "multinomial",
        "bernoulli_",
        "uniform_",
        "normal_",
        "exponential_",
    }


@pytest.mark.parametrize(
    "file", [*SOURCES, *files("app")], ids=lambda file: str(file.relative_to(ROOT))
)
def test_no_file_runs_code_from_data(file: Path) -> None:
    tree = ast.parse(file.read_text())
    assert not {name for name in imports(tree) if within(name, DANGEROUS)}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        assert name not in ("eval", "exec", "compile", "__import__")
        words = {keyword.arg: keyword.value for keyword in call.keywords}
        for word, wanted in (
            ("trust_remote_code", False),
            ("weights_only", True),
            ("use_safetensors", True),
        ):
            if word in words:
                value = words[word]
                assert isinstance(value, ast.Constant)
                assert value.value is wanted


@pytest.mark.parametrize("file", files("app"), ids=lambda file: str(file.relative_to(ROOT)))
def test_app_imports_itself_at_the_top_only(file: Path) -> None:
    """`app.py` beside the package `app` makes late imports of it ambiguous to type checkers."""
    tree = ast.parse(file.read_text())
    functions = [
        n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    late = {name for function in functions for name in imports(function)}
    assert not {name for name in late if within(name, {"app"})}


def test_the_one_late_arrow_upwards_is_the_notebook_view_of_a_trace() -> None:
    """Packages may discover their own modules; any other late import hides an arrow."""
    late: list[tuple[str, str]] = []
    for file in (*files("core"), *files("viz")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                name = ast.unparse(node.args[0]).lstrip("f").strip("'")
                late.append((module_of(file), name))
    discovering = {
        ("core.registry", "name"),
        ("core.parts", "name"),
        ("core.train.__main__", "core.train."),
        ("viz.pictures", "{__name__}."),
    }
    rest = [
        (m, n) for m, n in late if not any(m == own and n.startswith(p) for own, p in discovering)
    ]
    assert rest == [("core.trace", "viz.replay")]
