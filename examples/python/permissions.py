"""Vector search under permissions: only documents that one of the user's groups may see, by sets, before
distances are taken."""

import numpy as np

import libcohort as lc

rng = np.random.default_rng(2)
documents, dimensions, groups = 20_000, 32, 50
vectors = rng.normal(size=(documents, dimensions)).astype("float32")
owner, seen = rng.integers(0, groups, 3 * documents), rng.integers(0, documents, 3 * documents)
may_see = lc.Sets.from_pairs(owner, seen)  # a set of documents for each group

users = [[1, 7], [3], [4, 8, 15, 16, 23, 42]]
allowed = may_see.query("or", users, want="sets")
for groups_of, visible in zip(users, allowed):
    visible = np.asarray(visible)
    query = rng.normal(size=dimensions).astype("float32")
    best = visible[np.argsort(-(vectors[visible] @ query))[:5]]
    assert lc.is_in(best, np.concatenate([np.asarray(may_see[g].members()) for g in groups_of])).all()
    print(f"groups {groups_of}: {len(visible):,} of {documents:,} documents, best {best.tolist()}")
