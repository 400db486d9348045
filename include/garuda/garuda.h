/* The C ABI: Arrow C streams in, Arrow C streams out. The C++ API (garuda.hpp) says more about what each option means.
 *
 * Every function that can fail returns GARUDA_OK or a code, and then, when `error` is not null, points *error to a
 * sentence that the caller frees with garuda_string_free. Structures start with their size, so that a later version may
 * append members: set `size` to sizeof the structure and everything else to 0 before filling it in. */
#ifndef GARUDA_GARUDA_H
#define GARUDA_GARUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default) /* what the shared library shows */
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

/* Owns devices, pipelines and budgets. Safe to use from several threads; outlives every stream made with it. */
typedef struct garuda_engine garuda_engine;

/* A flag that ends a running call. */
typedef struct garuda_cancellation garuda_cancellation;

struct garuda_join_options {
  size_t size;
  char const* left_key;       /* column of the left table */
  char const* right_key;      /* column of the right table */
  char const* const* columns; /* result columns, "left.NAME" or "right.NAME"; null: all but the right key */
  size_t num_columns;
  int ordered;                             /* not 0: rows sorted by (left row, right row) */
  char const* path;                        /* "auto" (or null), "graphics", "compute", "cuda", "cpu" */
  char const* device;                      /* index or part of a name; null: garuda chooses */
  char const* tuning;                      /* "key=value,…"; null: none */
  uint64_t memory_limit_bytes;             /* 0: three quarters of what is free */
  uint64_t device_memory_limit_bytes;      /* 0: the device's budget */
  uint32_t threads;                        /* 0: all */
  garuda_cancellation const* cancellation; /* outlives the stream; null: none */
};

struct garuda_group_by_options {
  size_t size;
  char const* const* keys; /* columns; none: all rows are one group */
  size_t num_keys;
  char const* aggregates; /* "FN[:COLUMN][=NAME],…", FN: count, sum, min, max, mean; null: the distinct keys;
                             a backslash makes the next character part of a name */
  int ordered;            /* not 0: groups in the order of their first rows */
  char const* path;       /* from here on as in garuda_join_options */
  char const* device;
  char const* tuning;
  uint64_t memory_limit_bytes;
  uint64_t device_memory_limit_bytes;
  uint32_t threads;
  garuda_cancellation const* cancellation;
};

/* Null when memory is exhausted. */
garuda_cancellation* garuda_cancellation_create(void);
/* From any thread. */
void garuda_cancellation_set(garuda_cancellation* cancellation);
/* Null is allowed. */
void garuda_cancellation_destroy(garuda_cancellation* cancellation);

/* Finds the devices. A machine without Vulkan gives an engine with the CPU path only. */
int garuda_engine_create(garuda_engine** engine, char** error);
/* Null is allowed. */
void garuda_engine_destroy(garuda_engine* engine);

/* Joins two streams. Both are read to their end and released by this call, also when it fails; what is read is
 * validated before use. On success the caller releases `out`, which keeps its inputs alive; errors met while it is read
 * come through its get_last_error. Blocks until the keys are partitioned. */
int garuda_join(garuda_engine* engine, struct ArrowArrayStream* left, struct ArrowArrayStream* right,
                struct garuda_join_options const* options, struct ArrowArrayStream* out, char** error);

/* The number of rows that garuda_join would give. Streams are treated alike. */
int garuda_join_count(garuda_engine* engine, struct ArrowArrayStream* left, struct ArrowArrayStream* right,
                      struct garuda_join_options const* options, uint64_t* rows, char** error);

/* Groups a stream, which is treated as those of garuda_join are. Columns of the result: the keys, then the aggregates.
 */
int garuda_group_by(garuda_engine* engine, struct ArrowArrayStream* table,
                    struct garuda_group_by_options const* options, struct ArrowArrayStream* out, char** error);

/* Null is allowed. */
void garuda_string_free(char* text);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
