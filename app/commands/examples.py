"""How each command is called: the end of its `--help`, tested to be what the command takes."""

PROGRAM = "python -m app"

TOP = f"""\
examples:
  {PROGRAM} methods
  {PROGRAM} run --method prompt_lookup --prompt "Say it twice." --out twice.json.gz
  {PROGRAM} show twice.json.gz
  {PROGRAM} export twice.json.gz twice.html
  {PROGRAM} serve

{PROGRAM} COMMAND --help explains a command. Exit status: 0 fine, 1 failed, 2 wrong use,
130 interrupted; the reason is one sentence on standard error."""

METHODS = f"""\
examples:
  {PROGRAM} methods
  {PROGRAM} methods --json | jq -r ".[].key\""""

RUN = f"""\
examples:
  {PROGRAM} run --method plain --prompt "Why is the sky blue?"
  {PROGRAM} run --method rsd --set tree=4,2,2 --temperature 0.7 --seed 7 --prompt @question.txt
  {PROGRAM} run --method speculative_sampling --set drafter=model length=6 \\
      --model ./target --draft ./small --dtype bfloat16 --device cuda --prompt "Hello"
  {PROGRAM} run --method prompt_lookup --no-chat --stop END --prompt @- --json < draft.txt

The text appears as it is decoded. Ctrl-C ends the run; what was decoded so far is printed and
written to --out."""

SHOW = f"""\
examples:
  {PROGRAM} show run.json.gz
  {PROGRAM} show run.json.gz --round 3
  {PROGRAM} show run.json.gz --json | jq .metrics"""

EXPORT = f"""\
examples:
  {PROGRAM} export run.json.gz run.html
  {PROGRAM} export run.json.gz run.csv --table rounds

Tables: rounds (counts and times), nodes (every drafted token with p and q), darts (every accept
test)."""

CHECK = f"""\
examples:
  {PROGRAM} check run.json.gz"""

SERVE = f"""\
examples:
  {PROGRAM} serve
  {PROGRAM} serve --port 8000"""
