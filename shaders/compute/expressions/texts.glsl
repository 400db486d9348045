// Texts of expressions: compared by their bytes, and matched with patterns. Included behind expression_layout.h, words.glsl
// and strings.glsl.

layout(buffer_reference, std430, buffer_reference_align = 8) readonly restrict buffer StringsViews { StringsView at[]; };

Text column_text(uvec2 steps, uint place, uint number) {
  return text_of(StringsViews(advanced(steps, place)).at[0], number);
}

// A constant: its size, then its bytes.
Text constant_text(uvec2 steps, uint place) {
  uvec2 address = advanced(steps, place);
  return Text(advanced(address, 1u), 0u, InputWords(address).at[0]);
}

uint byte_of(Text text, uint place) {
  uint byte = text.begin + place;
  return InputWords(text.words).at[byte / 4u] >> byte % 4u * 8u & 0xffu;
}

// The bytes of the code point that begins at a place.
uint point_bytes(Text text, uint place) {
  uint lead = byte_of(text, place);
  return lead < 0x80u ? 1u : lead < 0xe0u ? 2u : lead < 0xf0u ? 3u : 4u;
}

// Whether the tokens are all of the text. Behind the last kAnyText that was met another try begins a code point later.
bool matches(uvec2 steps, uint tokens, uint num_tokens, Text text) {
  uvec2 pattern = advanced(steps, tokens);
  uint place = 0u;
  uint token = 0u;
  uint tried = 0u;
  uint behind = 0u;  // the token behind the last kAnyText; 0: none was met
  while (place < text.size) {
    uint wanted = token < num_tokens ? InputWords(pattern).at[token] : kNoOperand << 8;
    if (wanted == kAnyText) {
      behind = ++token;
      tried = place;
    } else if (wanted == kAnyPoint) {
      place = min(place + point_bytes(text, place), text.size);
      ++token;
    } else if (wanted == byte_of(text, place)) {
      ++place;
      ++token;
    } else if (behind != 0u) {
      tried = min(tried + point_bytes(text, tried), text.size);
      place = tried;
      token = behind;
    } else {
      return false;
    }
  }
  while (token < num_tokens && InputWords(pattern).at[token] == kAnyText) ++token;
  return token == num_tokens;
}
