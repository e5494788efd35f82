"""How each command is called: the end of its `--help`, tested to be what the command takes."""

PROGRAM = "python -m app"

TOP = f"""\
examples:
  {PROGRAM} methods
  {PROGRAM} run --method prompt_lookup --prompt "Say it twice." --out twice.json.gz
  {PROGRAM} show twice.json.gz
  {PROGRAM} export twice.json.gz twice.html
  {PROGRAM} compare --methods mcsd,eagle2,svip --prompt "Why is the sky blue?" --out sky
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

COMPARE = f"""\
examples:
  {PROGRAM} compare --methods speculative_sampling,mcsd,eagle2 --prompt "Why is the sky blue?"
  {PROGRAM} compare --methods mcsd,mcsd,sequoia --set mcsd.tree=4,2,2 mcsd:2.tree=8,1 \\
      --prompt @question.txt --out wide
  {PROGRAM} compare --methods prompt_lookup,svip --temperature 0.7 --seed 7 --prompt @- --json

Every method decodes with the same seed, plain decoding first. What fails of one method is told, and
the others go on. Ctrl-C ends the comparison; the methods that were done are printed and written to
--out."""

BENCH = f"""\
examples:
  {PROGRAM} bench questions.txt --methods prompt_lookup,mcsd
  {PROGRAM} bench questions.jsonl --methods plain,svip --limit 40 --json | jq .methods

Prints medians over the prompts with intervals that hold the median in 95 % of cases, which takes
six prompts; with categories, those too. Ctrl-C ends it; the prompts that were done count."""

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
