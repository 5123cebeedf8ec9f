/* SPDX-License-Identifier: MIT */
/* The run store's tables and views; docs/store.md tells of them.
 *
 * Version 2 (pragma user_version) is run, evaluation, final. What came later is added beside it, to any store that may
 * be written, so that a program that knows the first three only goes on with the store, and a store that may only be
 * read can lack it:
 *
 *   imported(run)               runs that came without a checkpoint
 *   note(run, text)             what somebody wrote about a run
 *   parent(run, name)           the run that one goes on from, as it was called then
 *   scores, curves, costs, means   views, for readers of the store: nothing of locus reads them
 *
 * In place of evaluation, version 1 had a table metric(run, name, step, value), a row for each point of a curve. A
 * store that is opened to be written is brought to version 2, one that is opened to be read keeps its version. */
#include "train/store/store_sql.h"

/* evaluation_text.h has the text. */
#define EVALUATION \
    "CREATE TABLE evaluation(run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, step INTEGER NOT NULL," \
    " metrics TEXT NOT NULL, PRIMARY KEY(run, step)) WITHOUT ROWID;"

const char lab_store_schema[] =
    "CREATE TABLE run(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, task TEXT NOT NULL,"
    " encoding TEXT NOT NULL, setup TEXT NOT NULL, embedding_init TEXT NOT NULL, budget TEXT NOT NULL,"
    " config TEXT NOT NULL, command TEXT NOT NULL, version TEXT NOT NULL, machine TEXT NOT NULL,"
    " message TEXT NOT NULL, seed INTEGER NOT NULL, data_seed INTEGER NOT NULL, state INTEGER NOT NULL,"
    " steps_total INTEGER NOT NULL, steps_done INTEGER NOT NULL, tokens_seen INTEGER NOT NULL,"
    " wall_seconds REAL NOT NULL, tokens_per_second REAL NOT NULL, peak_bytes INTEGER NOT NULL,"
    " parameters INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL);" EVALUATION
    "CREATE TABLE final(run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, \"set\" TEXT NOT NULL,"
    " name TEXT NOT NULL, value REAL, PRIMARY KEY(run, \"set\", name)) WITHOUT ROWID;"
    "PRAGMA user_version = 2;";

const char lab_store_second_begin[] = EVALUATION;
const char lab_store_second_end[] = "DROP VIEW IF EXISTS curves; DROP TABLE metric; PRAGMA user_version = 2;";

#define IDENTITY "run.id AS run, run.name AS name, task, encoding, budget, setup, embedding_init, seed"
/* A configuration without what seeds alone tell apart, and without what is no part of a training. */
#define SETTINGS \
    "CASE WHEN json_valid(config) THEN json_remove(config, '$.seed', '$.test_lengths', '$.checkpoint_seconds')" \
    " ELSE config END"

const char lab_store_curves[] =
    "CREATE VIEW IF NOT EXISTS curves AS SELECT " IDENTITY ", metric.key AS curve, step, metric.value AS value"
    " FROM run JOIN evaluation ON evaluation.run = run.id JOIN json_each(evaluation.metrics) AS metric;";

const char lab_store_additions[] =
    "CREATE TABLE IF NOT EXISTS imported(run INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE);"
    "CREATE TABLE IF NOT EXISTS note(run INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE, text TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS parent(run INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,"
    " name TEXT NOT NULL);"
    "CREATE VIEW IF NOT EXISTS scores AS SELECT " IDENTITY ", \"set\", final.name AS score, value"
    " FROM run JOIN final ON final.run = run.id WHERE state = 1;"
    "CREATE VIEW IF NOT EXISTS costs AS SELECT " IDENTITY ", parameters, steps_done AS steps, tokens_seen AS tokens,"
    " wall_seconds AS seconds, tokens_per_second, peak_bytes, machine, version FROM run WHERE state = 1;"
    /* Squares of the distances from the mean, not of the values: scores of seeds lie close together. */
    "CREATE VIEW IF NOT EXISTS means AS SELECT task, encoding, budget, setup, embedding_init, settings, \"set\", score,"
    " count(value) AS seeds, avg(value) AS mean,"
    " CASE WHEN count(value) > 1 THEN sum((value - middle) * (value - middle)) / (count(value) - 1) END AS variance,"
    " min(value) AS least, max(value) AS most"
    " FROM (SELECT *, avg(value) OVER (PARTITION BY task, encoding, budget, setup, embedding_init, settings, \"set\","
    " score) AS middle FROM (SELECT task, encoding, budget, setup, embedding_init, " SETTINGS " AS settings, \"set\","
    " final.name AS score, value FROM run JOIN final ON final.run = run.id WHERE state = 1))"
    " GROUP BY task, encoding, budget, setup, embedding_init, settings, \"set\", score;";
