/* The border between garuda and its CUDA plug-in, libgaruda_cuda.so: plain C, so that the plug-in may be built by
 * another compiler and loaded at run time, or not at all. Every structure is filled by its caller; no memory changes
 * owner, and every handle is closed by the function beside the one that opened it. Nothing throws across this border.
 */
#ifndef GARUDA_CUDA_PLUGIN_H
#define GARUDA_CUDA_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this file: raised with every change of a structure or a function. */
#define GARUDA_CUDA_ABI_VERSION 6u

typedef enum GarudaCudaCode {
  GARUDA_CUDA_OK = 0,
  GARUDA_CUDA_USAGE,
  GARUDA_CUDA_NO_DEVICE,
  GARUDA_CUDA_OUT_OF_MEMORY,
  GARUDA_CUDA_LIMIT_EXCEEDED,
  GARUDA_CUDA_DEVICE_FAILURE,
  GARUDA_CUDA_CANCELLED
} GarudaCudaCode;

/* Why a call failed: a code and one sentence. Filled when a function returns another code than GARUDA_CUDA_OK. */
typedef struct GarudaCudaError {
  char message[512];
} GarudaCudaError;

typedef struct GarudaCudaTraits {
  char name[256];
  uint8_t uuid[16]; /* equal to the Vulkan device's deviceUUID of the same GPU */
  uint64_t memory_bytes;
  uint64_t l2_bytes;
  uint64_t shared_bytes; /* of a block, opt-in included */

  uint32_t compute_major;
  uint32_t compute_minor;
  uint32_t multiprocessors;
  uint32_t threads_per_multiprocessor;
  uint32_t is_integrated;
  uint32_t has_memory_pools;
  uint32_t driver_version;  /* 1000 × major + 10 × minor of the CUDA version it serves */
  uint32_t runtime_version; /* the same of the runtime built into the plug-in */
  uint32_t has_code;        /* whether the plug-in was built for devices of this compute capability */
} GarudaCudaTraits;

/* What a call may ask of its caller. Functions may be called from the thread that made the call only. */
typedef struct GarudaCudaHost {
  void* context;
  int32_t (*is_cancelled)(void* context);
  void (*add_phase)(void* context, char const* name, uint64_t ns, uint64_t bytes, uint64_t items);
  void (*add_counter)(void* context, char const* name, uint64_t value);
} GarudaCudaHost;

typedef enum GarudaCudaUpload { GARUDA_CUDA_STAGE = 0, GARUDA_CUDA_REGISTER = 1 } GarudaCudaUpload;

typedef struct GarudaCudaLaneOptions {
  uint64_t memory_budget_bytes; /* device memory that the lane's work may hold at a time */
  uint32_t upload;              /* GarudaCudaUpload */
} GarudaCudaLaneOptions;

/* The keys of rows in device memory. Without keys all rows are one group. */
typedef struct GarudaCudaGroupKeys {
  uint64_t address;         /* `rows` words, or `num_words` columns of `rows` 32-bit words one behind the other */
  uint64_t expected_groups; /* 0: not known */
  uint32_t rows;            /* 1 to 2^30 */
  uint32_t key_bits;        /* 32 or 64; 0: several words, or no keys */
  uint32_t num_words;       /* of several words; else 0 */
} GarudaCudaGroupKeys;

/* Rows and their groups, in the order of the groups' first rows; addresses of device memory. */
typedef struct GarudaCudaNumberedRows {
  uint64_t heads; /* a group: its first row, 32 bits */
  uint64_t ids;   /* a row: its group, 32 bits */
  uint32_t groups;
} GarudaCudaNumberedRows;

/* As garuda::contract::ValueKind. */
typedef enum GarudaCudaValueKind {
  GARUDA_CUDA_NONE = 0,
  GARUDA_CUDA_INT32,
  GARUDA_CUDA_UINT32,
  GARUDA_CUDA_INT64,
  GARUDA_CUDA_UINT64,
  GARUDA_CUDA_INT128,
  GARUDA_CUDA_FLOAT32,
  GARUDA_CUDA_FLOAT64
} GarudaCudaValueKind;

/* Bits of GarudaCudaAggregate::states. */
#define GARUDA_CUDA_COUNT 1u
#define GARUDA_CUDA_SUM 2u
#define GARUDA_CUDA_MIN 4u
#define GARUDA_CUDA_MAX 8u

/* A column in device memory, and what is wanted of it. */
typedef struct GarudaCudaAggregate {
  uint64_t values;   /* address; 0 without values */
  uint64_t validity; /* address of a bit a row; 0: no nulls */
  uint32_t kind;     /* GarudaCudaValueKind */
  uint32_t states;
} GarudaCudaAggregate;

/* Addresses of the states of all groups in device memory, 0 of those that were not asked for: 64-bit words, of each
 * group so many as are named here, low word first. Extremes are ordered, windows and flags have the meaning of
 * garuda::contract::AggregateState. */
typedef struct GarudaCudaStates {
  uint64_t counts;       /* 1 */
  uint64_t sums;         /* integers of 32 bits 1, of 64 bits 2; of 128 bits 2 for the sum of the values' low words,
                            which are unsigned, then 2 for that of the high ones */
  uint64_t minima;       /* 1; of 128 bits 2 */
  uint64_t maxima;       /* 1; of 128 bits 2 */
  uint64_t flags;        /* floats: 1 */
  uint64_t windows;      /* floats: 2 a window */
  uint32_t first_window; /* of every group */
  uint32_t num_windows;  /* of every group */
} GarudaCudaStates;

/* A column in device memory, rows × bytes. */
typedef struct GarudaCudaColumn {
  uint64_t address; /* 0 in the columns of a table: the row numbers, of 4 bytes */
  uint32_t bytes;   /* of a value: 4 or 8 */
} GarudaCudaColumn;

#define GARUDA_CUDA_MAX_COLUMNS 16u

typedef struct GarudaCudaResidentTable {
  uint64_t rows; /* below 2^31 */
  GarudaCudaColumn key;
  uint32_t num_columns;
  GarudaCudaColumn columns[GARUDA_CUDA_MAX_COLUMNS];
} GarudaCudaResidentTable;

typedef enum GarudaCudaPayload {
  GARUDA_CUDA_PAYLOAD_AUTOMATIC = 0, /* whichever moves fewer bytes */
  GARUDA_CUDA_PAYLOAD_CARRY,         /* through the partitioning, with the keys */
  GARUDA_CUDA_PAYLOAD_GATHER         /* by row number, when the result is written */
} GarudaCudaPayload;

typedef enum GarudaCudaBuildSide {
  GARUDA_CUDA_BUILD_AUTOMATIC = 0, /* the smaller side, the left one of two equal ones */
  GARUDA_CUDA_BUILD_LEFT,
  GARUDA_CUDA_BUILD_RIGHT
} GarudaCudaBuildSide;

/* How a resident join runs; 0 of each: chosen. */
typedef struct GarudaCudaResidentTuning {
  uint32_t build;          /* GarudaCudaBuildSide */
  uint32_t payload;        /* GarudaCudaPayload */
  uint32_t partition_rows; /* build rows that a partition should have at most */
  uint32_t partition_by;   /* 1: passes over keys and columns, 2: CUB's radix sort, of one column */
  uint32_t tile_items;     /* rows of a thread in a pass over values of 4 bytes: 8, 16 */
} GarudaCudaResidentTuning;

/* What a resident join writes. */
typedef enum GarudaCudaJoinParts {
  GARUDA_CUDA_JOIN_ROWS = 0, /* keys and columns */
  GARUDA_CUDA_JOIN_COLUMNS,  /* columns alone */
  GARUDA_CUDA_JOIN_NOTHING   /* rows are counted */
} GarudaCudaJoinParts;

typedef struct GarudaCudaResidentRows {
  uint64_t rows;
  GarudaCudaColumn key;                           /* without memory unless keys are written; likewise the columns */
  GarudaCudaColumn left[GARUDA_CUDA_MAX_COLUMNS]; /* as many as the tables have */
  GarudaCudaColumn right[GARUDA_CUDA_MAX_COLUMNS];
} GarudaCudaResidentRows;

typedef enum GarudaCudaFunction {
  GARUDA_CUDA_FUNCTION_COUNT = 0, /* int64 */
  GARUDA_CUDA_FUNCTION_SUM,       /* int64, of unsigned values uint64, of floats float64: exact, floats rounded once */
  GARUDA_CUDA_FUNCTION_MIN,       /* as the values */
  GARUDA_CUDA_FUNCTION_MAX,
  GARUDA_CUDA_FUNCTION_MEAN /* float64: the exact sum, rounded, over the count */
} GarudaCudaFunction;

/* An aggregate of a column without nulls. */
typedef struct GarudaCudaResidentAggregate {
  uint64_t values;   /* address; of counts any */
  uint32_t kind;     /* GarudaCudaValueKind, not INT128; of counts NONE will do */
  uint32_t function; /* GarudaCudaFunction */
} GarudaCudaResidentAggregate;

#define GARUDA_CUDA_MAX_AGGREGATES 8u

typedef struct GarudaCudaResidentGroups {
  uint64_t groups;
  GarudaCudaColumn key;
  uint64_t results[GARUDA_CUDA_MAX_AGGREGATES]; /* address of a column for each aggregate */
} GarudaCudaResidentGroups;

/* How values are counted by their low bits, in words of device memory. */
typedef enum GarudaCudaHistogramMethod {
  GARUDA_CUDA_HISTOGRAM_GRID_STRIDE = 0, /* atomics; threads of the whole grid take rows in turn */
  GARUDA_CUDA_HISTOGRAM_BLOCK_STRIDE,    /* atomics; a block takes a stretch of rows */
  GARUDA_CUDA_HISTOGRAM_CUB              /* cub::DeviceHistogram */
} GarudaCudaHistogramMethod;

/* CUB keeps a copy of all bins for each block and numbers them by 32 bits (seen with CCCL 3.0: 2^24 bins, illegal
 * accesses on a device of 132 multiprocessors). */
#define GARUDA_CUDA_MOST_CUB_BINS 65536u

typedef struct GarudaCudaHistogram {
  uint64_t values; /* address of rows x uint32 */
  uint64_t rows;
  uint64_t bins;        /* a power of two, up to 2^30 */
  uint64_t counts;      /* address of bins x uint32 */
  uint32_t method;      /* GarudaCudaHistogramMethod */
  uint32_t threads;     /* of a block; not of CUB */
  uint32_t blocks_each; /* a multiprocessor; not of CUB */
} GarudaCudaHistogram;

/* Memory that another API exported as an opaque file descriptor. */
typedef struct GarudaCudaImport {
  int32_t fd;            /* the importer's when the import succeeds, else still the caller's */
  uint64_t bytes;        /* of the whole allocation */
  uint32_t is_dedicated; /* allocated for one buffer */
} GarudaCudaImport;

typedef struct GarudaCudaDevice GarudaCudaDevice;
typedef struct GarudaCudaLane GarudaCudaLane;
typedef struct GarudaCudaGroups GarudaCudaGroups;
typedef struct GarudaCudaBuffer GarudaCudaBuffer;
typedef struct GarudaCudaImported GarudaCudaImported;
typedef struct GarudaCudaResidentJoin GarudaCudaResidentJoin;
typedef struct GarudaCudaResidentGroupBy GarudaCudaResidentGroupBy;

/* All functions return a GarudaCudaCode and fill `error` when it is not GARUDA_CUDA_OK. Devices may be used by several
 * threads at once; a lane and what was begun on it by one at a time. Joins and groups end before their lane, lanes and
 * buffers before their device. */
typedef struct GarudaCudaApi {
  uint32_t version; /* GARUDA_CUDA_ABI_VERSION */
  uint32_t size;    /* of this structure */

  /* Fails with GARUDA_CUDA_NO_DEVICE, naming the reason, when there is no driver or no device. */
  int32_t (*count_devices)(uint32_t* count, GarudaCudaError* error);
  int32_t (*device_traits)(uint32_t ordinal, GarudaCudaTraits* traits, GarudaCudaError* error);
  int32_t (*open_device)(uint32_t ordinal, GarudaCudaDevice** device, GarudaCudaError* error);
  void (*close_device)(GarudaCudaDevice* device);
  /* Free device memory, what the device's pool keeps included. */
  int32_t (*available_bytes)(GarudaCudaDevice* device, uint64_t* bytes, GarudaCudaError* error);
  /* Gives back memory that the pool keeps. */
  int32_t (*trim)(GarudaCudaDevice* device, GarudaCudaError* error);

  int32_t (*open_lane)(GarudaCudaDevice* device, GarudaCudaLaneOptions const* options, GarudaCudaHost const* host,
                       GarudaCudaLane** lane, GarudaCudaError* error);
  void (*close_lane)(GarudaCudaLane* lane);

  /* Numbers the groups of rows; blocks. What `numbered` names is good until the groups end. */
  int32_t (*begin_groups)(GarudaCudaLane* lane, GarudaCudaGroupKeys const* keys, GarudaCudaGroups** groups,
                          GarudaCudaNumberedRows* numbered, GarudaCudaError* error);
  /* Computes states, exact whatever the order of rows; blocks. They are good until the next call. */
  int32_t (*aggregate)(GarudaCudaGroups* groups, GarudaCudaAggregate const* column, GarudaCudaStates* states,
                       GarudaCudaError* error);
  void (*end_groups)(GarudaCudaGroups* groups);

  /* Device memory of one's own, for tables that stay there. */
  int32_t (*create_buffer)(GarudaCudaLane* lane, uint64_t bytes, GarudaCudaBuffer** buffer, uint64_t* address,
                           GarudaCudaError* error);
  int32_t (*upload)(GarudaCudaLane* lane, uint64_t address, void const* source, uint64_t bytes, GarudaCudaError* error);
  int32_t (*download)(GarudaCudaLane* lane, uint64_t address, void* target, uint64_t bytes, GarudaCudaError* error);
  /* Copies within the device and reports the time as phase "copy". Blocks. */
  int32_t (*copy)(GarudaCudaLane* lane, uint64_t target, uint64_t source, uint64_t bytes, GarudaCudaError* error);
  void (*destroy_buffer)(GarudaCudaBuffer* buffer);
  /* Lets the device of `lane` see memory of another API on the same GPU. The exporter outlives it; work of one API on
   * it is waited for before the other's begins. */
  int32_t (*import_memory)(GarudaCudaLane* lane, GarudaCudaImport const* memory, GarudaCudaImported** imported,
                           uint64_t* address, GarudaCudaError* error);
  void (*release_imported)(GarudaCudaImported* imported);
  /* Clears the counts, then counts; blocks. Phases "clear" and "count". */
  int32_t (*count_bins)(GarudaCudaLane* lane, GarudaCudaHistogram const* histogram, GarudaCudaError* error);

  /* Joins of tables in device memory, rows of the result in any order. `parts`: GarudaCudaJoinParts. Each run blocks
   * and reports its phases. */
  int32_t (*begin_resident_join)(GarudaCudaLane* lane, GarudaCudaResidentTable const* left,
                                 GarudaCudaResidentTable const* right, uint32_t parts, uint64_t expected_rows,
                                 GarudaCudaResidentTuning const* tuning, GarudaCudaResidentJoin** join,
                                 GarudaCudaError* error);
  int32_t (*run_resident_join)(GarudaCudaResidentJoin* join, GarudaCudaResidentRows* rows, GarudaCudaError* error);
  /* After a run of tables that are not empty and whose one column is the row numbers: sets the bits of one side's rows
   * that have a match, clears the others. `count` words of host memory: ceil(rows of the side / 64). Blocks. */
  int32_t (*mark_resident_join)(GarudaCudaResidentJoin* join, uint32_t is_left, uint64_t count, uint64_t* words,
                                GarudaCudaError* error);
  void (*end_resident_join)(GarudaCudaResidentJoin* join);

  /* Group-bys of columns in device memory by one key, groups in any order. Each run blocks and reports its phases. */
  int32_t (*begin_resident_group_by)(GarudaCudaLane* lane, GarudaCudaColumn const* key, uint64_t rows,
                                     GarudaCudaResidentAggregate const* aggregates, uint32_t num_aggregates,
                                     uint64_t expected_groups, GarudaCudaResidentGroupBy** group_by,
                                     GarudaCudaError* error);
  int32_t (*run_resident_group_by)(GarudaCudaResidentGroupBy* group_by, GarudaCudaResidentGroups* groups,
                                   GarudaCudaError* error);
  void (*end_resident_group_by)(GarudaCudaResidentGroupBy* group_by);
} GarudaCudaApi;

/* The plug-in's functions, or NULL when it does not speak `version`. */
typedef GarudaCudaApi const* (*GarudaCudaEntry)(uint32_t version);
#define GARUDA_CUDA_ENTRY "garuda_cuda_api"

#ifdef __cplusplus
}
#endif

#endif
