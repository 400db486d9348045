// The layout shared by the compute primitives and their C++ side: specialisation constants and push constants.
// Buffers are passed by device address, so no range of a descriptor limits them.
#ifndef GARUDA_SHADERS_PRIMITIVES_LAYOUT_H
#define GARUDA_SHADERS_PRIMITIVES_LAYOUT_H

#include "../shared/glsl_types.h"

#ifdef __cplusplus
namespace garuda::shaders {
using device_address = std::uint64_t;
}
#else
#define device_address uvec2
#endif

GARUDA_SHADER_BEGIN

// Specialisation constants of every compute pass.
const uint kSpecLocalSize = 0u;  // invocations of a workgroup, as gl_WorkGroupSize takes them
const uint kSpecGroup = 1u;      // the same, as array sizes take them
const uint kSpecSubgroup = 2u;   // invocations of a subgroup
const uint kSpecItems = 3u;      // elements an invocation has in a tile
const uint kSpecWords = 4u;      // u32 words of a key or an element: 1 or 2
const uint kSpecBits = 5u;       // radix bits of a pass
const uint kSpecHashed = 6u;     // digits of the key's hash (1) or of the key (0)
const uint kSpecStable = 7u;     // rows of a bin keep their order (1)
const uint kSpecSegmented = 8u;  // chunks come from a table (1) or cut one array (0)
const uint kSpecOperation = 9u;  // of the reduction
const uint kSpecIota = 11u;      // the first payload column is the row's number (1)
const uint kSpecScratch = 12u;   // words of shared memory beside the fixed arrays
const uint kSpecMaskBits = 13u;  // of a digit, by which rows find their equals in shared memory, the others by ballots
const uint kSpecRounds = 14u;    // in which a tile is staged in shared memory
const uint kSpecMore = 15u;      // there are payload columns that are not (1)

const uint kSpecPacked = 16u;       // places of rows are kept as half words (1)
const uint kSpecFullApart = 18u;    // full tiles take a path of their own (1)
const uint kSpecNarrow = 17u;       // elements of the first payload column are a word (1)
const uint kSpecLists = 22u;        // a sum lists elements (1)
const uint kSpecWidePayload = 19u;  // some payload column's elements have an even number of words (1)

const uint kReduceAdd = 0u;
const uint kReduceMin = 1u;
const uint kReduceMax = 2u;

// Sums travel as 60 bits in two words of 30, each with the state of the tile above them, so that either word tells
// whether it has been written. A reader takes a pair whose states agree: each state of a tile has one value.
const uint kStateShift = 30u;
const uint kSumMask = 0x3fffffffu;
const uint kStateMissing = 0u;
const uint kStateTile = 1u;    // sum of the tile
const uint kStatePrefix = 2u;  // sum of the tile and all before it

/// Exclusive sum of num_elements u32; with kSpecLists each is 0 or 1, and target takes the numbers of those that are 1.
/// Inputs and outputs are 16-byte aligned and do not overlap.
struct PrefixPush {
  device_address source;
  device_address target;  // num_elements × u32, modulo 2^32
  device_address states;  // look-back: (2 + 2 × tiles) u32, zeroed; else 2 × (tiles + 1) u32: sums, then bases
  device_address total;   // (low, high)
  device_address copy;    // (num_elements + 1) × u32: the sums, the total behind them; 0: none
  uint num_elements;
  uint num_tiles;
  uint spins;  // readings of a missing state before its tile is summed again
};

/// Reduction of num_elements elements of kSpecWords words: sum of u32 as (low, high), or extreme element.
struct ReductionPush {
  device_address source;
  device_address result;  // two words, initialised with the operation's neutral value
  uint num_elements;
  uint tiles_each;  // tiles of a workgroup
};

/// Sums of segments: result[s] (low, high) += values[starts[s]] … values[starts[s + 1] - 1].
struct SegmentsPush {
  device_address values;
  device_address starts;   // (num_segments + 1) × u32, not decreasing, the last num_elements
  device_address results;  // num_segments × (low, high), zeroed
  uint num_elements;
  uint num_segments;
};

/// target[i] = source[rows[i]], elements of kSpecWords words.
struct GatherPush {
  device_address source;
  device_address rows;
  device_address target;
  uint num_elements;
};

/// counts[values[i] & mask] += 1.
struct CountBinsPush {
  device_address values;
  device_address counts;  // mask + 1 × u32
  uint num_elements;
  uint mask;
};

struct CopyPush {
  device_address source;
  device_address target;
  uint num_quads;  // of 16 bytes
};

/// One column that moves with the keys.
struct PayloadColumn {
  device_address source;
  device_address target;
  uint words;  // u32 words of an element
  uint padding;
};

/// A chunk of the array that one workgroup scatters: rows [begin, end), counts at matrix[first + bin * stride].
struct PartitionChunk {
  uint begin;
  uint end;
  uint first;
  uint stride;
};

/// One pass of a radix partition over num_rows keys of kSpecWords words.
struct PartitionPush {
  device_address keys;
  device_address keys_out;
  PayloadColumn first;     // payload column; the others are in the table
  device_address payload;  // num_payload × PayloadColumn
  device_address chunks;   // table of chunks, when segmented
  // Count pass: counts by (segment, bin, chunk), or by (segment, bin) and zeroed before when the order is any; scatter
  // pass: their exclusive sums, which an order of any kind moves on.
  device_address matrix;
  uint num_rows;
  uint num_chunks;
  uint chunk_rows;
  uint shift;  // of the digit
  uint num_payload;
  uint chunks_each;  // count pass: of a workgroup
  uint num_cleared;
  device_address cleared;  // num_cleared × u32, which the count pass zeroes for the sum that follows
};

/// Chunks of the segments that an earlier pass left.
struct ChunkTablePush {
  device_address starts;       // (num_segments + 1) × u32
  device_address first_chunk;  // (num_segments + 1) × u32
  device_address chunks;       // max_chunks × PartitionChunk
  uint num_segments;
  uint max_chunks;
  uint chunk_rows;
  uint bins;
  uint shared_counts;  // 1: all chunks of a segment count in the same cells
};

/// Where the bins of all segments start, from the scanned matrix.
struct BinStartsPush {
  device_address matrix;
  device_address first_chunk;  // (num_segments + 1) × u32; of one segment: none is read
  device_address segments;     // (num_segments + 1) × u32: where the segments start
  device_address starts;       // num_segments × bins + 1
  uint num_segments;
  uint bins;
  uint num_rows;
  uint num_chunks;  // of one segment
};

GARUDA_SHADER_END

#endif
