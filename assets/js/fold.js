/* A tree of more rows than fit: branches never reached fold to one row and open on demand. Pure. */
((D) => {
  "use strict";

  const MOST_ROWS = 28;
  const IDLE = new Set(["unreached", "pruned", "probe"]);

  function childrenOf(nodes) {
    const children = new Map(nodes.map((node) => [node.id, []]));
    [...nodes]
      .sort((a, b) => a.row - b.row)
      .forEach((node) => {
        if (node.state !== "root") children.get(node.parent)?.push(node);
      });
    return children;
  }

  /** Children of every node by id, in the order drawn. */
  D.childrenOf = childrenOf;

  function measureBranches(nodes, children) {
    const branches = new Map();
    const visit = (node) => {
      const below = children.get(node.id).map(visit);
      const branch = {
        node,
        leaves: Math.max(
          1,
          below.reduce((sum, part) => sum + part.leaves, 0),
        ),
        size: 1 + below.reduce((sum, part) => sum + part.size, 0),
        idle: IDLE.has(node.state) && below.every((part) => part.idle),
      };
      branches.set(node.id, branch);
      return branch;
    };
    nodes.filter((node) => node.state === "root").forEach(visit);
    return branches;
  }

  function choose(branches, rows) {
    const folded = new Map();
    const candidates = [...branches.values()]
      .filter((branch) => branch.idle && branch.leaves > 1)
      .sort((a, b) => b.node.depth - a.node.depth || b.leaves - a.leaves || b.node.row - a.node.row);
    let left = rows;
    for (const branch of candidates) {
      if (left <= MOST_ROWS) break;
      folded.set(branch.node.id, branch.size - 1);
      left = countRows(branches, folded);
    }
    return folded;
  }

  /** Open the branches that the reader asked for by one level: their children fold in their place. */
  function unfold(folded, branches, children, open) {
    for (const id of open) {
      if (!folded.delete(id)) continue;
      for (const child of children.get(id)) {
        const { leaves, size } = branches.get(child.id);
        if (leaves > 1) folded.set(child.id, size - 1);
      }
    }
    return folded;
  }

  function countRows(branches, folded) {
    const root = [...branches.values()].find((branch) => branch.node.state === "root");
    const children = childrenOf([...branches.values()].map((branch) => branch.node));
    const count = (node) =>
      folded.has(node.id) || !children.get(node.id).length
        ? 1
        : children.get(node.id).reduce((sum, child) => sum + count(child), 0);
    return root ? count(root.node) : 0;
  }

  function place(nodes, children, folded) {
    const rows = new Map();
    let next = 0;
    const visit = (node) => {
      const below = folded.has(node.id) ? [] : children.get(node.id);
      below.forEach(visit);
      rows.set(
        node.id,
        below.length ? (rows.get(below[0].id) + rows.get(below[below.length - 1].id)) / 2 : next++,
      );
    };
    nodes.filter((node) => node.state === "root").forEach(visit);
    return {
      rows: next,
      nodes: nodes.filter((node) => rows.has(node.id)).map((node) => ({ ...node, row: rows.get(node.id) })),
    };
  }

  /** `{nodes, rows, folded: Map(id -> nodes hidden below)}`; `open`: ids that the reader opened, in order. */
  D.fold = (view, open) => {
    if (view.rows <= MOST_ROWS) return { nodes: view.nodes, rows: view.rows, folded: new Map() };
    const children = childrenOf(view.nodes);
    const branches = measureBranches(view.nodes, children);
    const folded = unfold(choose(branches, view.rows), branches, children, open);
    return { ...place(view.nodes, children, folded), folded };
  };
})((window.Draftscope = window.Draftscope ?? {}));
