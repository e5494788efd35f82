/* Fields made from a method's own declarations: a name on the left, a short value on the right. */
((D) => {
  "use strict";

  const isNumber = (spec) => spec.type === "integer" || spec.type === "number";

  /** A list as people read it: numbers with dots, words with commas; a line break as \n. */
  const listed = (values) =>
    values.every((value) => typeof value === "number")
      ? values.join(" · ")
      : values.map((value) => String(value).replaceAll("\n", "\\n")).join(", ");

  const plain = (value) => (Array.isArray(value) ? listed(value) : String(value ?? ""));

  /** A value as the page writes it: some have words of their own, such as `off`. */
  const shown = (value, spec) => (plain(value) !== "" && spec.labels[plain(value)]) || plain(value);

  const asNumber = (text) => (text !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

  /** What a field's text means; what cannot be read goes on as text, and the server says what is allowed. */
  function meant(text, spec) {
    const named = Object.entries(spec.labels).find(([value, label]) => value !== "" && label === text.trim());
    const words = named ? named[0] : text.trim();
    if (isNumber(spec)) return words === "" ? spec.default : asNumber(words);
    if (!spec.type.startsWith("list of ")) return text;
    if (words === "") return spec.default === null ? null : [];
    if (spec.type === "list of string") return words.split(",").map((part) => part.trim().replaceAll("\\n", "\n"));
    return words.split(/[\s,;·]+/u).filter(Boolean).map(asNumber);
  }

  function help(spec) {
    const { minimum, maximum } = spec;
    const span = minimum === null || maximum === null ? "" : `${minimum} to ${maximum.toLocaleString("en")}`;
    return [spec.description, span].filter(Boolean).join("; ") || null;
  }

  function choice(spec, value, on) {
    const options = spec.choices.map((one) =>
      D.h("option", { value: one, selected: one === value }, spec.labels[one] ?? one));
    return D.h("select", { on }, options);
  }

  function line(spec, value, on) {
    const field = D.h("input", {
      type: "text",
      inputmode: isNumber(spec) ? "decimal" : null,
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 400,
      placeholder: spec.labels[""] ?? (spec.type.startsWith("list of ") || spec.default === "" ? "none" : null),
      on,
    });
    field.value = shown(value, spec);
    return field;
  }

  /** A slider over some values, and over the one that is set where that is none of them. */
  function slide(spec, value, on) {
    const stops = [...new Set([...spec.steps, value])].filter(Number.isFinite).sort((a, b) => a - b);
    const said = (stop) => spec.labels[stop] ?? stop.toLocaleString("en");
    const field = D.h("input", { type: "range", min: 0, max: stops.length - 1, step: 1 });
    const told = D.h("output");
    const read = () => stops[Number(field.value)];
    const tell = () => {
      told.textContent = said(read());
      field.setAttribute("aria-valuetext", told.textContent);
    };
    field.value = stops.indexOf(value);
    field.addEventListener("input", tell);
    for (const [event, heard] of Object.entries(on)) field.addEventListener(event, heard);
    tell();
    return { parts: [told, field], read };
  }

  /** One row; `read` gives its value. */
  function row(name, spec, value, changed) {
    const on = { change: changed, input: changed };
    if (spec.steps && Number.isFinite(value)) {
      const { parts, read } = slide(spec, value, on);
      const attributes = { class: "ds-set ds-slide", title: help(spec), "data-field": name };
      return { root: D.h("label", attributes, D.h("span", null, spec.title), ...parts), read };
    }
    const isSwitch = spec.type === "boolean";
    const field = isSwitch
      ? D.h("input", { type: "checkbox", checked: value === true, on })
      : spec.choices ? choice(spec, value, on) : line(spec, value, on);
    const root = D.h("label", { class: "ds-set", title: help(spec), "data-field": name }, D.h("span", null, spec.title), field);
    return { root, read: () => (isSwitch ? field.checked : meant(field.value, spec)) };
  }

  /** Rows for a list of declarations; `read` gives their values by name. */
  D.fieldRows = (specs, values, prefix, changed) => {
    const made = new Map();
    const settled = () => {
      showThoseThatMatter();
      changed();
    };
    for (const spec of specs) {
      made.set(spec.name, row(prefix + spec.name, spec, values[spec.name] ?? spec.default, settled));
    }
    function showThoseThatMatter() {
      for (const { name, only_with: condition } of specs) {
        const idle = condition && !condition.slice(1).includes(made.get(condition[0]).read());
        made.get(name).root.classList.toggle("ds-none", Boolean(idle));
      }
    }
    showThoseThatMatter();
    return {
      elements: [...made.values()].map((one) => one.root),
      read: () => Object.fromEntries([...made].map(([name, one]) => [name, one.read()])),
    };
  };

  /** The values that differ from their declarations' own, in a fixed order: for comparing, and for links. */
  D.unusual = (values, specs) =>
    Object.fromEntries(
      Object.entries(values)
        .filter(([name, value]) => {
          const spec = specs.find((one) => one.name === name);
          return !spec || JSON.stringify(value) !== JSON.stringify(spec.default);
        })
        .sort(),
    );
})((window.Draftscope = window.Draftscope ?? {}));
