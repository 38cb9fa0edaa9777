// Sphinx's scores of search results, and which pages a reader wants first: those that explain, not records of tests.
const pageScores = {
  "docs/start": 4, "docs/quick_reference": 4, "docs/faq": 3, "docs/linking": 3, "docs/models": 2, "docs/speed": 2, "docs/dynamic": 1,
  "CONTRIBUTING": -3, "docs/mutants": -4, "docs/reliability": -2, "bench/README": -2,
};
var Scorer = {
  // [page, title, anchor, description, score, file, kind]; a function's parameters come after the function.
  score: ([page, , , description, score]) =>
    score + (pageScores[page] ?? 0) - (/ function parameter\b/.test(description ?? "") ? 10 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
