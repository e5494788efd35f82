/* What the row of a comparison says of its settings, in a few words. Pure. */
((D) => {
  "use strict";

  const MOST = 34; // characters of a method's settings

  const shownValue = (value) => (Array.isArray(value) ? value.join(" · ") : String(value));

  /** The settings of a method that are not the usual ones. */
  D.configWords = (config, specs) => {
    const parts = Object.entries(D.unusual(config, specs)).map(([name, value]) => {
      const spec = specs.find((one) => one.name === name);
      return `${(spec?.title ?? name).toLowerCase()} ${spec?.labels[value] ?? shownValue(value)}`;
    });
    const line = parts.join(", ");
    return line.length > MOST ? `${line.slice(0, MOST - 1)}…` : line;
  };

  /** What all methods share. */
  D.settingsWords = ({ sampling, models, chat }) => {
    const heat = Number(sampling.temperature ?? 0);
    const target = models.target ?? "default";
    const parts = [
      target === "default" ? "default model" : target,
      heat ? `temperature ${heat}` : "greedy",
      `seed ${sampling.seed ?? 0}`,
      sampling.max_new_tokens ? `${sampling.max_new_tokens} tokens` : "",
      chat === false ? "no chat template" : "",
    ];
    return parts.filter(Boolean).join(", ");
  };
})((window.Draftscope = window.Draftscope ?? {}));
