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

/* Of this file: raised with every change of a structure or a function. */
#define GARUDA_CUDA_ABI_VERSION 5u

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
  void (*add_note)(void* context, char const* text);
} GarudaCudaHost;

typedef enum GarudaCudaUpload { GARUDA_CUDA_STAGE = 0, GARUDA_CUDA_REGISTER = 1 } GarudaCudaUpload;

typedef struct GarudaCudaLaneOptions {
  uint64_t memory_budget_bytes; /* device memory that the lane's work may hold at a time */
  uint32_t upload;              /* GarudaCudaUpload */
} GarudaCudaLaneOptions;

typedef enum GarudaCudaJoinMethod {
  GARUDA_CUDA_JOIN_AUTOMATIC = 0,
  GARUDA_CUDA_JOIN_PARTITIONED, /* rows of slices sorted by the leading bits of their hash, so that accesses to the
                                   table stay near; of resident tables a table in shared memory for each partition */
  GARUDA_CUDA_JOIN_TABLE,       /* one table in device memory, for build sides that fit the L2 cache */
  GARUDA_CUDA_JOIN_MERGE        /* both sides sorted by key */
} GarudaCudaJoinMethod;

/* One build × probe slice: keys in host memory that outlive the join; at most 2^24 rows a side. */
typedef struct GarudaCudaJoinSlice {
  void const* left_keys;
  void const* right_keys;
  uint32_t left_rows;
  uint32_t right_rows;
  uint32_t key_bits; /* 32 or 64 */
  uint32_t method;   /* GarudaCudaJoinMethod */
  uint32_t build_is_left;
} GarudaCudaJoinSlice;

typedef struct GarudaCudaRowPair {
  uint32_t left;
  uint32_t right;
} GarudaCudaRowPair;

typedef enum GarudaCudaGroupMethod {
  GARUDA_CUDA_GROUP_AUTOMATIC = 0,
  GARUDA_CUDA_GROUP_HASH,        /* one table in device memory, addressed directly where that is allowed */
  GARUDA_CUDA_GROUP_PARTITIONED, /* the same of rows sorted by the leading bits of their hash; not of words */
  GARUDA_CUDA_GROUP_SORTED       /* rows sorted by key */
} GarudaCudaGroupMethod;

typedef struct GarudaCudaGroupSlice {
  void const* keys;             /* key_bits 32 or 64: num_rows words */
  uint32_t const* const* words; /* num_words columns of num_rows words */
  uint64_t min_key;             /* of `keys` */
  uint64_t max_key;
  uint64_t expected_groups; /* 0: not known */
  uint32_t num_rows;        /* 1 to 2^24 */
  uint32_t key_bits;        /* 0: words, or no keys */
  uint32_t num_words;       /* 0: keys, or none */
  uint32_t shared_low_bits; /* lowest bits that are equal in all `keys` */
  uint32_t allow_direct;    /* slots may be key - min */
  uint32_t force_direct;
  uint32_t method; /* GarudaCudaGroupMethod; slots that are forced to be direct are of the first two */
} GarudaCudaGroupSlice;

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

typedef struct GarudaCudaAggregate {
  uint32_t const* values;   /* in host memory; NULL without values */
  uint32_t const* validity; /* NULL: no nulls */
  uint32_t kind;            /* GarudaCudaValueKind */
  uint32_t states;
} GarudaCudaAggregate;

/* Where the states of an aggregate go; arrays of states that were not asked for are NULL. Sizes, meaning and order as
 * garuda::contract::AggregateState, a group each. */
typedef struct GarudaCudaStates {
  uint64_t* counts;
  uint64_t* sums;   /* 2 words, int128: 4 */
  uint64_t* minima; /* 1 word, int128: 2 */
  uint64_t* maxima;
  uint8_t* flags;        /* floats: special values */
  uint8_t* first_window; /* floats */
  uint64_t* offsets;     /* floats: groups + 1 */
  uint64_t* windows;     /* floats: 2 words a window */
} GarudaCudaStates;

/* A column in device memory, rows × word_bytes. */
typedef struct GarudaCudaColumn {
  uint64_t address;
  uint32_t bytes; /* of a value: 4 or 8 */
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

/* How a resident join runs; 0 of each: chosen. */
typedef struct GarudaCudaResidentTuning {
  uint32_t method;         /* GarudaCudaJoinMethod */
  uint32_t payload;        /* GarudaCudaPayload, of method partitioned; the others gather */
  uint32_t partition_rows; /* build rows that a partition should have at most */
  uint32_t partition_by;   /* 1: passes over keys and columns, 2: CUB's radix sort, of one column */
  uint32_t tile_items;     /* rows of a thread in a pass over values of 4 bytes: 8, 16 */
} GarudaCudaResidentTuning;

typedef struct GarudaCudaResidentRows {
  uint64_t rows;
  GarudaCudaColumn key;
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
typedef struct GarudaCudaJoin GarudaCudaJoin;
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

  /* The contract of garuda::contract::JoinKernel. */
  int32_t (*begin_join)(GarudaCudaLane* lane, GarudaCudaJoinSlice const* slice, GarudaCudaJoin** join,
                        GarudaCudaError* error);
  int32_t (*join_count)(GarudaCudaJoin* join, uint64_t* count, GarudaCudaError* error);
  int32_t (*join_pairs)(GarudaCudaJoin* join, uint64_t first, uint64_t count, GarudaCudaRowPair* pairs,
                        GarudaCudaError* error);
  /* `count` words: ceil(rows of the side / 64). */
  int32_t (*join_mark)(GarudaCudaJoin* join, uint32_t is_left, uint64_t count, uint64_t* words, GarudaCudaError* error);
  void (*end_join)(GarudaCudaJoin* join);

  /* The contract of garuda::contract::GroupByKernel. */
  int32_t (*begin_groups)(GarudaCudaLane* lane, GarudaCudaGroupSlice const* slice, GarudaCudaGroups** groups,
                          GarudaCudaError* error);
  int32_t (*find_groups)(GarudaCudaGroups* groups, uint64_t* count, GarudaCudaError* error);
  int32_t (*group_heads)(GarudaCudaGroups* groups, uint64_t count, uint32_t* heads, GarudaCudaError* error);
  int32_t (*group_ids)(GarudaCudaGroups* groups, uint64_t count, uint32_t* ids, GarudaCudaError* error);
  /* Computes; `num_windows` of all groups, 0 unless floats are summed. */
  int32_t (*aggregate)(GarudaCudaGroups* groups, GarudaCudaAggregate const* input, uint64_t* num_windows,
                       GarudaCudaError* error);
  /* Copies what the last `aggregate` computed. */
  int32_t (*fetch_states)(GarudaCudaGroups* groups, GarudaCudaStates const* states, GarudaCudaError* error);
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

  /* Joins of tables in device memory, rows of the result in any order. Each run blocks and reports its phases. */
  int32_t (*begin_resident_join)(GarudaCudaLane* lane, GarudaCudaResidentTable const* left,
                                 GarudaCudaResidentTable const* right, uint64_t expected_rows,
                                 GarudaCudaResidentTuning const* tuning, GarudaCudaResidentJoin** join,
                                 GarudaCudaError* error);
  int32_t (*run_resident_join)(GarudaCudaResidentJoin* join, GarudaCudaResidentRows* rows, GarudaCudaError* error);
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
