// Strings in device memory: where one lies, its words, equality and order. Included behind strings_layout.h and words.glsl.

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer Pieces { StringPiece at[]; };

struct Text {
  uvec2 words;  // address of the words that hold it
  uint begin;   // its first byte among theirs
  uint size;    // in bytes
};

// The piece that a string's number falls in.
uint piece_of(StringsView strings, uint number) {
  uint low = 0u;
  uint high = strings.num_pieces;
  while (high - low > 1u) {
    uint middle = (low + high) / 2u;
    if (Pieces(strings.pieces).at[middle].first <= number) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

Text text_of(StringsView strings, uint number) {
  if (number >= strings.num_strings) return Text(uvec2(0u), 0u, 0u);
  StringPiece piece = Pieces(strings.pieces).at[piece_of(strings, number)];
  uint at = number - piece.first;
  uint begin = InputWords(piece.offsets).at[at];
  return Text(piece.bytes, begin, InputWords(piece.offsets).at[at + 1u] - begin);
}

// Whether a string is one that rows have: a null of a dictionary is not.
bool is_value(StringsView strings, uint number) {
  StringPiece piece = Pieces(strings.pieces).at[piece_of(strings, number)];
  uint at = number - piece.first;
  return piece.valid == uvec2(0u) || (InputWords(piece.valid).at[at / 32u] >> at % 32u & 1u) != 0u;
}

// Four bytes of a text from `first` on; what lies behind its end is not cleared.
uint four_bytes(Text text, uint first) {
  uint byte = text.begin + first;
  uint shift = byte % 4u * 8u;
  uint low = InputWords(text.words).at[byte / 4u];
  if (shift == 0u) return low;
  return low >> shift | InputWords(text.words).at[byte / 4u + 1u] << (32u - shift);
}

// The first `count` bytes of a word, 1 to 4.
uint leading_bytes(uint word, uint count) { return word & 0xffffffffu >> (32u - 8u * count); }

// Four bytes of a text from `first` on, zeros behind its end.
uint word_of(Text text, uint first) {
  return leading_bytes(four_bytes(text, first), min(text.size - first, 4u));
}

bool are_equal(Text a, Text b) {
  if (a.size != b.size) return false;
  for (uint first = 0u; first < a.size; first += 4u) {
    if (word_of(a, first) != word_of(b, first)) return false;
  }
  return true;
}

// The bytes of a word in the order of reading: the first byte highest.
uint first_highest(uint word) {
  return word << 24 | (word & 0xff00u) << 8 | (word >> 8 & 0xff00u) | word >> 24;
}

// Orders texts by their bytes, a text before those that it begins.
int order_of(Text a, Text b) {
  uint shared_bytes = min(a.size, b.size);
  for (uint first = 0u; first < shared_bytes; first += 4u) {
    uint count = min(shared_bytes - first, 4u);
    uint of_a = leading_bytes(four_bytes(a, first), count);
    uint of_b = leading_bytes(four_bytes(b, first), count);
    if (of_a != of_b) return first_highest(of_a) < first_highest(of_b) ? -1 : 1;
  }
  return a.size == b.size ? 0 : a.size < b.size ? -1 : 1;
}
