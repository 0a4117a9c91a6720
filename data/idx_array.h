// An array in the IDX format of MNIST: a big-endian header (two zero bytes, element type, number of
// dimensions, dimensions), then unsigned bytes. Plain or gzip, told by content and not by name.
#ifndef LOCKSTEP_DATA_IDX_ARRAY_H_
#define LOCKSTEP_DATA_IDX_ARRAY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "data/bytes.h"
#include "data/typed_array.h"

namespace lockstep {

// What a file is expected to hold: images [rows, height, width] or [rows, height, width, channels], or
// labels [rows].
enum class IdxContent { kImages, kLabels };

// `bytes` is the whole file; `name` is what messages call it. Compressed data is decompressed into memory.
//
// Errors: INVALID_ARGUMENT for a wrong magic number or a size that is not the one the header promises;
// DATA_LOSS for damaged gzip data.
absl::StatusOr<TypedArray> ParseIdx(std::shared_ptr<const Bytes> bytes, IdxContent content,
                                    const std::string& name);

}  // namespace lockstep

#endif  // LOCKSTEP_DATA_IDX_ARRAY_H_
