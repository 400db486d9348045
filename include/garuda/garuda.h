/* The C ABI: Arrow C streams in, Arrow C streams out. The C++ API (garuda.hpp) says more about what each option means.
 *
 * Every function that can fail returns GARUDA_OK or a code, and then, when `error` is not null, points *error to a
 * sentence. Sentences and JSON are the caller's, to be freed with garuda_string_free. Structures start with their size,
 * so that a later version may append members: set `size` to sizeof the structure and everything else to 0 before
 * filling it in. Destroying null does nothing. */
#ifndef GARUDA_GARUDA_H
#define GARUDA_GARUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the shared library shows; CMake defines garuda_c_EXPORTS where that is built. */
#if defined(_WIN32) && defined(garuda_c_EXPORTS)
#define GARUDA_EXPORT __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define GARUDA_EXPORT __attribute__((visibility("default")))
#else
#define GARUDA_EXPORT
#endif

struct ArrowArrayStream; /* the Arrow C stream interface */

enum garuda_code {
  GARUDA_OK = 0,
  GARUDA_USAGE = 1,         /* a request that no input could satisfy */
  GARUDA_INVALID_INPUT = 2, /* malformed data, unknown column, unsupported type, overflow */
  GARUDA_NO_DEVICE = 3,     /* no such device, or the path cannot run on it */
  GARUDA_OUT_OF_MEMORY = 4,
  GARUDA_LIMIT_EXCEEDED = 5, /* a memory limit cannot be kept */
  GARUDA_OUTPUT = 6,         /* a result cannot be written */
  GARUDA_DEVICE_FAILURE = 7, /* a driver call failed or the device was lost */
  GARUDA_CANCELLED = 8,
  GARUDA_LOGIC_ERROR = 9 /* the caller broke a precondition, or garuda has a bug */
};

/* Owns devices, pipelines and budgets. Safe to use from several threads; outlives all that was made with it. */
typedef struct garuda_engine garuda_engine;

/* Rows in the host's memory or in a device's, read by any number of calls and threads. Results keep what they read
 * alive. */
typedef struct garuda_table garuda_table;

/* The rows of a join, group-by or plan, and what making them takes. One thread at a time. */
typedef struct garuda_result garuda_result;

/* A flag that ends running calls. */
typedef struct garuda_cancellation garuda_cancellation;

struct garuda_progress {
  char const* phase; /* what is being done; good until the call returns */
  uint64_t done;     /* units finished */
  uint64_t total;    /* units in all; 0: not known */
  uint64_t rows_out; /* result rows so far */
};

/* How and where to run; changes speed and resources, never results. */
struct garuda_run_options {
  size_t size;
  char const* path;                        /* "auto" (or null), "graphics", "compute", "cuda", "cpu" */
  char const* device;                      /* index or part of a name; null: garuda chooses */
  char const* tuning;                      /* "key=value,…"; null: none */
  uint64_t memory_limit_bytes;             /* 0: three quarters of what is free */
  uint64_t device_memory_limit_bytes;      /* 0: the device's budget */
  uint32_t threads;                        /* 0: all; at most 4,096 */
  int allow_cuda;                          /* not 0: "auto" may take CUDA where Vulkan has a GPU */
  garuda_cancellation const* cancellation; /* outlives the result; null: none */
  /* Called from one thread at a time, any one, also while a result is read; null: not called. */
  void (*on_progress)(void* context, struct garuda_progress const* progress);
  void* progress_context;
};

struct garuda_join_options {
  size_t size;
  char const* const* left_keys;  /* columns of the left table */
  char const* const* right_keys; /* what they equal in the right table, one each */
  size_t num_keys;               /* at most 16; 0: rows match by `where` alone */
  char const* how;               /* "inner" (or null), "left", "right", "full", "semi", "anti", "mark" */
  int nulls_equal;               /* not 0: null keys match null keys */
  char const* const* columns;    /* result columns, "left.NAME" or "right.NAME", a backslash making the next character
                                    part of a name; null: all but the right keys */
  size_t num_columns;
  int ordered;                          /* not 0: rows sorted by (left row, right row) */
  struct garuda_run_options const* run; /* null: as if all of it were 0 */
  /* What must be true of rows, with equal keys where there are keys, for them to match, "left.a < right.b and not
   * right.c = 'x'", as `garuda join --where` takes it; null: nothing. */
  char const* where;
  int allow_cross; /* not 0: without keys and without `where`, every left row with every right one; else an error */
  /* Result columns of strings and binary: "utf8" (or null), as the tables have them, or "view", as views; long values
   * then stay in the tables, which the rows keep alive. */
  char const* strings;
};

struct garuda_group_by_options {
  size_t size;
  char const* const* keys; /* columns; none: all rows are one group */
  size_t num_keys;
  char const* aggregates; /* "FN[:COLUMN][=NAME],…", as `garuda group-by --agg` takes; null: the distinct keys;
                             a backslash makes the next character part of a name */
  int ordered;            /* not 0: groups in the order of their first rows */
  struct garuda_run_options const* run;
  char const* strings; /* as that of joins */
};

/* A table, and the name by which a plan reads it. Parts of a name stand with points between them. */
struct garuda_named_table {
  char const* name;
  garuda_table const* table; /* of the host */
};

/* A plan of Substrait (0.20 and later): a binary message with one relation, as DataFusion writes it. */
struct garuda_plan {
  size_t size;
  void const* bytes; /* free after the call */
  size_t num_bytes;
  struct garuda_named_table const* tables; /* those that the plan does not name are left alone */
  size_t num_tables;
  int strict; /* not 0: an operator that computes on the host is an error where the run names a path of devices */
};

/* Finds the devices. A machine without Vulkan gives an engine with the CPU path only. */
GARUDA_EXPORT int garuda_engine_create(garuda_engine** engine, char** error);
GARUDA_EXPORT void garuda_engine_destroy(garuda_engine* engine);

/* Null when memory is exhausted. */
GARUDA_EXPORT garuda_cancellation* garuda_cancellation_create(void);
/* From any thread. */
GARUDA_EXPORT void garuda_cancellation_set(garuda_cancellation* cancellation);
GARUDA_EXPORT void garuda_cancellation_destroy(garuda_cancellation* cancellation);

/* Reads a stream to its end and releases it, also when it fails. What is read is validated, and not copied; the offsets
 * and views of strings and binary are validated by the first call that reads their column, which then fails. */
GARUDA_EXPORT int garuda_table_read(struct ArrowArrayStream* stream, garuda_table** table, char** error);
/* Copies a table into the memory of a device (index or part of a name; null: garuda chooses): columns of fixed width,
 * strings, binary, and dictionaries of these. Tables of one device are joined and grouped there. */
GARUDA_EXPORT int garuda_table_upload(garuda_engine* engine, garuda_table const* table, char const* device,
                                      garuda_table** out, char** error);
/* Sorts a column of a table of a device and keeps the index there: joins on the column look rows up in it. Not while
 * other calls read the table. */
GARUDA_EXPORT int garuda_table_build_index(garuda_table* table, char const* column, char** error);
/* Gives the rows out; those of a device are copied to the host first. The stream is independent of the table. */
GARUDA_EXPORT int garuda_table_stream(garuda_table const* table, struct ArrowArrayStream* out, char** error);
GARUDA_EXPORT uint64_t garuda_table_rows(garuda_table const* table);
GARUDA_EXPORT void garuda_table_destroy(garuda_table* table);

/* Makes the build side of joins, for a table of the host that is the right one of many: `keys` of its columns become
 * words, partitions and tables, once. `build`: the same rows, for calls whose right keys these are, with the same
 * `nulls_equal`; other calls take it as the table. Of `run` threads, memory limit, cancellation, progress and the
 * tuning's radix_bits are read; null: as if all of it were 0. */
GARUDA_EXPORT int garuda_join_build(garuda_engine* engine, garuda_table const* table, char const* const* keys,
                                    size_t num_keys, int nulls_equal, struct garuda_run_options const* run,
                                    garuda_table** build, char** error);
/* Starts a join. Blocks until the keys are partitioned. */
GARUDA_EXPORT int garuda_join(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                              struct garuda_join_options const* options, garuda_result** result, char** error);
/* The number of rows that garuda_join would give; no pair is enumerated. `statistics`: JSON as that of
 * garuda_result_statistics; null: not wanted. */
GARUDA_EXPORT int garuda_join_count(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                                    struct garuda_join_options const* options, uint64_t* rows, char** statistics,
                                    char** error);
/* Starts a group-by. Columns of the result: the keys, then the aggregates. */
GARUDA_EXPORT int garuda_group_by(garuda_engine* engine, garuda_table const* table,
                                  struct garuda_group_by_options const* options, garuda_result** result, char** error);
/* Runs a plan: its joins and group-bys on the path of `run`, the rest on the host's threads. Blocks until all rows are
 * made. Of the tuning those options are legal that joins and group-bys share. */
GARUDA_EXPORT int garuda_run_substrait(garuda_engine* engine, struct garuda_plan const* plan,
                                       struct garuda_run_options const* run, garuda_result** result, char** error);

/* What the calls above would do, as JSON, without doing it. */
GARUDA_EXPORT int garuda_explain_join(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                                      struct garuda_join_options const* options, char** json, char** error);
GARUDA_EXPORT int garuda_explain_join_count(garuda_engine* engine, garuda_table const* left, garuda_table const* right,
                                            struct garuda_join_options const* options, char** json, char** error);
GARUDA_EXPORT int garuda_explain_group_by(garuda_engine* engine, garuda_table const* table,
                                          struct garuda_group_by_options const* options, char** json, char** error);
GARUDA_EXPORT int garuda_explain_substrait(garuda_engine* engine, struct garuda_plan const* plan,
                                           struct garuda_run_options const* run, char** json, char** error);

/* Gives the rows out, once. They are made while the stream is read, which may outlive the result; errors met then come
 * through its get_last_error. Releasing it early ends what still runs. */
GARUDA_EXPORT int garuda_result_stream(garuda_result* result, struct ArrowArrayStream* out, char** error);
/* Takes all rows, once, as a table: of the device where they were made on one, else of the host. */
GARUDA_EXPORT int garuda_result_table(garuda_result* result, garuda_table** table, char** error);
/* The plan, as JSON. */
GARUDA_EXPORT int garuda_result_plan(garuda_result const* result, char** json, char** error);
/* What was done so far, as JSON: path, device, rows, nanoseconds and bytes of phases, counters. Complete once the rows
 * were read. */
GARUDA_EXPORT int garuda_result_statistics(garuda_result const* result, char** json, char** error);
GARUDA_EXPORT void garuda_result_destroy(garuda_result* result);

GARUDA_EXPORT void garuda_string_free(char* text);

#ifdef __cplusplus
}
#endif

#endif
