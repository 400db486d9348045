// The layout shared by the passes of the graphics join and their C++ side: pixel layouts, bindings, push constants.
// Everything is made of 32-bit scalars, so that C++, std430 and push-constant layouts coincide.
#ifndef GARUDA_SHADERS_SHARED_JOIN_LAYOUT_H
#define GARUDA_SHADERS_SHARED_JOIN_LAYOUT_H

#include "pass_layout.h"

GARUDA_SHADER_BEGIN

// Layers of a stack: the CountFBO holds the set of matching layers as a sum of powers of two in a float, exact for 24.
const uint kMaxLayers = 24u;

// Runs below kMediumRun rows are sorted by one invocation, below kLongRun (a power of two, the block that a workgroup
// sorts in shared memory: 12 KiB with 64-bit keys) by one workgroup, longer ones by many. Both thresholds are powers of
// two so that the histogram of clashes tells exactly how many runs fall into each class.
const uint kMediumRun = 32u;
const uint kLongRun = 1024u;
const uint kBlockRows = 1024u;

// Buckets of the histogram of clashes: pixels of 2^b … 2^(b+1) - 1 rows, b = 0…24.
const uint kClashBuckets = 25u;

// Pixels that one workgroup of the statistics reduction reads.
const uint kReducePixels = 4096u;

// Bindings of descriptor set 0, besides those of pass_layout.h; a resource has the same number in every pass.
const uint kBindFlags = 1u;        // FlagArray: build rows × u32, global layer + 1 or 0
const uint kBindLayers = 2u;       // utexture2DArray: hash images H_i
const uint kBindCountImage = 3u;   // texture2D: statistics image or CountFBO; utexture2D: (first, count) of runs
const uint kBindStatistics = 5u;   // ClashStatistics
const uint kBindMatches = 8u;      // probe rows × u32: set of matching layers, or first entry of the matching run
const uint kBindRunOffsets = 9u;   // as kBindOffsets, over pixels
const uint kBindRunBases = 10u;    // as kBindTileBases, over pixels
const uint kBindRunRows = 11u;     // build rows × u32, by run
const uint kBindRunKeys = 12u;     // build rows × kKeyWords u32, by run
const uint kBindRunCursors = 13u;  // pixels × u32: rows placed so far
const uint kBindRunLists = 14u;    // uvec4 work lists of the sort
const uint kBindListSizes = 15u;   // u32 sizes of the work lists
const uint kBindMarks = 16u;       // bitmap of rows that have a match
const uint kBindHeads = 17u;       // build rows × u32: 1 where a matching run of equal keys starts
const uint kBindLongRuns = 19u;    // uvec2 (first, length) of long runs
const uint kBindPairs = 20u;       // uvec2 (probe row, build row) of a window, where no image holds them

/// Statistics of one side: filled by statistics_reduce.comp, zeroed before.
struct ClashStatistics {
  uint max_clashes;
  uint pixels[25];  // by bucket: pixels with so many rows
  uint rows[25];    // by bucket: their rows
};

struct StatisticsPush {
  KeyAddress address;
  Raster image;
  uint num_rows;
};

struct ReducePush {
  uint log2_width;
  uint num_pixels;
};

struct BuildPush {
  KeyAddress address;
  Raster image;
  uint num_rows;
  uint flag;  // draws the rows whose FlagArray entry equals this
};

struct MarkWinnersPush {
  uint log2_width;
  uint num_pixels;
  uint flag;  // written for its rows
};

struct CountPush {
  KeyAddress address;
  Raster image;   // hash images
  Raster target;  // CountFBO
  uint num_rows;
  uint num_layers;
  uint num_build_rows;
};

struct ProbePush {
  KeyAddress address;
  Raster image;   // hash images
  Raster target;  // result FBO, or the part of it that is drawn
  uint window_low;
  uint window_high;
  uint window_size;  // output positions of the window
  uint num_tiles;
  uint num_rows;
  uint first_row;  // of a compute pass over probe rows
};

struct RunPush {
  KeyAddress address;
  uint num_rows;
  uint num_pixels;
};

struct SortPush {
  uint first_entry;  // of the work list
  uint num_entries;
  uint stage;   // length of the sequences being merged; 0: sort whole blocks
  uint stride;  // distance of compared entries; 0: the first step of a stage, which mirrors
};

struct MarkPush {
  KeyAddress address;
  uint log2_width;
  uint num_rows;
  uint num_build_rows;
};

GARUDA_SHADER_END

#endif
