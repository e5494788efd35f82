"""From the words of a command to a request, checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from app.commands.console import Progress
from app.commands.errors import UsageError
from app.commands.namespaces import DecodeArguments
from app.commands.parameters import parse_settings
from app.commands.surroundings import Surroundings
from core.models.errors import ModelError
from core.models.sources import parse_source, shown
from core.registry import Method, MethodConfig
from core.run import Engine, Request

Pairs = Sequence[tuple[str, str]]


def request_of(method: Method, pairs: Pairs, prompt: str, args: DecodeArguments) -> Request:
    """Return what is to be done; raise UsageError or another ValueError where it cannot be."""
    request = Request(
        prompt=prompt,
        method=method,
        config=parse_settings(method, pairs),
        chat=args.chat,
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        seed=args.seed,
        max_new_tokens=args.max_new_tokens,
        stop=tuple(args.stop),
    )
    _ = request.law  # raises now what is out of range, not after the model is loaded
    _check_second(method, method.configure(request.config), args)
    return request


def check_models(args: DecodeArguments) -> None:
    """Raise UsageError where a model's name cannot be one."""
    for name in (args.model, args.model if args.draft is None else args.draft):
        try:
            parse_source(name)
        except ModelError as error:
            raise UsageError(str(error)) from None


def check_draft(requests: Sequence[Request], args: DecodeArguments) -> None:
    """Refuse a second model that none of the requests would use."""
    configs = [(request.method, request.method.configure(request.config)) for request in requests]
    if args.draft is None or any(m.drafts_with_second_model(config) for m, config in configs):
        return
    choices = [config.model_dump().get("drafter") for _, config in configs]
    chosen = next(filter(None, choices), None)
    if chosen is not None:
        raise UsageError(
            f"--draft names a second model, but the drafter is {chosen}: add --set drafter=model."
        )
    one = configs[0][0].name
    who = f"{one} drafts" if len(configs) == 1 else "these methods draft"
    raise UsageError(f"--draft names a second model, but {who} without one.")


def load(args: DecodeArguments, surroundings: Surroundings, progress: Progress) -> Engine:
    return surroundings.load_engine(
        args.model,
        args.draft,
        dtype=args.dtype,
        device=args.device,
        threads=args.threads,
        progress=progress,
    )


def _check_second(method: Method, config: MethodConfig, args: DecodeArguments) -> None:
    """Refuse the lack of a second model that a method needs."""
    if not method.drafts_with_second_model(config) or args.draft is not None:
        return
    if not _has_second(args.model):
        raise UsageError(
            f"{method.name} with these settings needs a second model, and none comes along for "
            f"{shown(args.model)}: add --draft ID."
        )


def _has_second(target: str) -> bool:
    from core.models.second import comes_along  # late: it brings transformers

    try:
        return comes_along(target)
    except ModelError as error:
        raise UsageError(str(error)) from None
