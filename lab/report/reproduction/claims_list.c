/* SPDX-License-Identifier: MIT */
/* What Kogkalidis, Bernardy and Garg (2024) say of their tables: in section 4.3 in words, else by the order of the
 * numbers in a table. What Harik and Jayasiri (2022) say of RoPER, and Hastings (2024) of Chebyshev polynomials. Claims
 * called ours follow from the framework: what should be so if it holds. A claim is about what is reached after the same
 * steps where its source says so: of RoPER's tasks "after 5,000 training steps" and "the final loss after 65,000
 * steps", of the decay "faster convergence". */
#include "report/reproduction/claims.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Table, id, text, source, kind, subjects, rivals, columns, after_steps. */
static const lab_claim claims[] = {
    {"table1", "best", "algebraic (seq) is the best scheme or nearly the best in every column",
     "the paper, section 4.3", LAB_CLAIM_BEST, "algebraic (seq)", NULL, NULL, false},
    {"table1", "against-relative",
     "algebraic (seq) does not fall behind relative, which is parameterized by the shape of the input",
     "the paper, section 4.3", LAB_CLAIM_BEST, "algebraic (seq)", "relative", NULL, false},
    {"table1", "sinusoidal-chance", "sinusoidal stays near chance", "the paper, Table 1", LAB_CLAIM_CHANCE,
     "sinusoidal", NULL, NULL, false},
    {"table1", "sinusoidal-last", "every other scheme is above sinusoidal", "the paper, Table 1", LAB_CLAIM_ABOVE, NULL,
     "sinusoidal", NULL, false},
    {"table1", "relative-reverse", "relative falls behind rope and algebraic (seq) on reverse and repeat",
     "the paper, Table 1", LAB_CLAIM_ABOVE, "rope|algebraic (seq)", "relative", "reverse|repeat", false},

    {"table2", "best", "the algebraic schemes (flat or tree) are the best or nearly the best in every column",
     "the paper, section 4.3", LAB_CLAIM_BEST, "algebraic (tree)|algebraic (seq)", NULL, NULL, false},
    {"table2", "tree-best", "algebraic (tree) is the best scheme or nearly the best in every column",
     "the paper, section 4.3 and Table 2", LAB_CLAIM_BEST, "algebraic (tree)", NULL, NULL, false},
    {"table2", "against-shiv-quirk",
     "algebraic (tree) does not fall behind shiv-quirk, which is parameterized by the shape of the trees",
     "the paper, section 4.3", LAB_CLAIM_BEST, "algebraic (tree)", "shiv-quirk", NULL, false},
    {"table2", "flat-depth", "flat schemes fall behind the tree schemes in depth-first order", "the paper, Table 2",
     LAB_CLAIM_ABOVE, "algebraic (tree)|shiv-quirk", "sinusoidal|rope|algebraic (seq)", "depth", false},
    {"table2", "flat-breadth",
     "flattening costs the algebraic scheme less where input and output are flattened alike, breadth-first",
     "the paper, section 4.3 and Table 2", LAB_CLAIM_LESS, "algebraic (tree)", "algebraic (seq)", NULL, false},
    {"table2", "sinusoidal-last", "sinusoidal stays below all other schemes", "the paper, Table 2", LAB_CLAIM_ABOVE,
     NULL, "sinusoidal", NULL, false},

    {"table3", "best", "algebraic (grid) is the best scheme or nearly the best in every column",
     "the paper, section 4.3", LAB_CLAIM_BEST, "algebraic (grid)", NULL, NULL, false},
    {"table3", "against-learned",
     "algebraic (grid) does not fall behind learned, which is parameterized by the shape of the image",
     "the paper, section 4.3", LAB_CLAIM_BEST, "algebraic (grid)", "learned", NULL, false},
    {"table3", "sequential-drop",
     "performance drops with sequential orthogonal encodings: algebraic (grid) is above algebraic (seq)",
     "the paper, section 4.3", LAB_CLAIM_ABOVE, "algebraic (grid)", "algebraic (seq)", NULL, false},
    {"table3", "wrong-bias",
     "sequential orthogonal encodings give the wrong bias: additive schemes are above algebraic (seq)",
     "the paper, section 4.3 and Table 3", LAB_CLAIM_ABOVE, "sinusoidal|learned", "algebraic (seq)", NULL, false},
    {"table3", "above-additive", "algebraic (grid) is above sinusoidal and learned", "the paper, Table 3",
     LAB_CLAIM_ABOVE, "algebraic (grid)", "sinusoidal|learned", NULL, false},

    {"roper", "solves-more", "RoPER solves more problems than RoPE after the same steps",
     "Harik and Jayasiri 2022, Arithmetic Addition and Substring by Index: after 5,000 steps", LAB_CLAIM_ABOVE, "roper",
     "rope", "addition|substring-index", true},
    {"roper", "search-loss", "RoPER has a lower loss than RoPE after the same steps",
     "Harik and Jayasiri 2022, Substring by Search: the final loss after 65,000 steps", LAB_CLAIM_ABOVE, "roper",
     "rope", "substring-search", true},
    {"roper", "text-unhurt",
     "RoPER doesn't hurt language modelling: its loss is above RoPE's by no more than the margin",
     "Harik and Jayasiri 2022; the margin is ours", LAB_CLAIM_HARMLESS, "roper", "rope", "text-loss", false},
    {"roper", "text-similar", "both show similar losses in language modelling: they differ by no more than the margin",
     "Harik and Jayasiri 2022; the margin is ours", LAB_CLAIM_SIMILAR, "roper", "rope", "text-loss", false},
    {"roper", "values-algebraic",
     "after the same steps algebraic (seq) with values turned is ahead of algebraic (seq), as roper of rope",
     "ours: values are a site of every group", LAB_CLAIM_ABOVE, "algebraic (seq), values", "algebraic (seq)",
     "addition|substring", true},
    {"roper", "values-text", "turning values doesn't hurt language modelling with algebraic (seq) either", "ours",
     LAB_CLAIM_HARMLESS, "algebraic (seq), values", "algebraic (seq)", "text-loss", false},
    {"roper", "values-tree",
     "on trees, too: after the same steps algebraic (tree) with values is above algebraic (tree)",
     "ours: values are a site of every group", LAB_CLAIM_ABOVE, "algebraic (tree), values", "algebraic (tree)", "tree",
     true},

    {"listops", "beats-transformer",
     "at the input of an encoder, trained from scratch, Chebyshev polynomials are above sinusoids",
     "Hastings 2024, Table 2: 49.51 against 36.37, though of other models", LAB_CLAIM_ABOVE, "chebyshev (input)",
     "sinusoidal", NULL, false},
    {"listops", "published-chance",
     "Chebyshev polynomials that are added behind a pretrained encoder, as the published code does, leave parity at "
     "chance",
     "ours: 49.51 % is chance of two classes; the encoder and how many expressions it learns from are not the "
     "published",
     LAB_CLAIM_CHANCE, "chebyshev (output), pretrained", NULL, "parity", false},
    {"listops", "published-control",
     "and they change nothing there: with and without them the encoder's scores differ by no more than the margin",
     "ours: token 0, which alone is read, always gets the same vector", LAB_CLAIM_SIMILAR,
     "chebyshev (output), pretrained", "pretrained alone", NULL, false},
    {"listops", "tree-flat", "encodings on the expression's own tree are above the flat ones", "ours", LAB_CLAIM_ABOVE,
     "algebraic (tree)|shiv-quirk", "sinusoidal|learned|chebyshev (input)|rope|algebraic (seq)", NULL, false},
    {"listops", "none-last", "every encoding is above none", "ours", LAB_CLAIM_ABOVE,
     "sinusoidal|learned|chebyshev (input)|rope|algebraic (seq)|algebraic (tree)|shiv-quirk", "none", NULL, false},

    {NULL, "decay", "the decay helps training: after the same steps a scheme is better with it than without",
     "the paper, section 4.2", LAB_CLAIM_DECAY, NULL, NULL, NULL, true},
};

size_t lab_claim_count(void) {
    return COUNT(claims);
}

const lab_claim *lab_claim_at(size_t index) {
    return index < COUNT(claims) ? &claims[index] : NULL;
}
