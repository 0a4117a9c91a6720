#include "tools/npz_writer.h"

#include <zip.h>

#include <list>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/quoted.h"
#include "base/shape_text.h"
#include "base/status_macros.h"
#include "worker/npy_preamble.h"

namespace lockstep {
namespace {

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
using Archive = std::unique_ptr<zip_t, Discard>;

absl::Status CheckShape(const NamedTensor& tensor) {
  size_t elements = 1;
  for (const int64_t size : tensor.shape) elements *= static_cast<size_t>(size);
  if (elements == tensor.values.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Quoted(tensor.name), " has the shape ",
                                                 ShapeToString(tensor.shape), " and ", tensor.values.size(),
                                                 " values"));
}

// The archive refers to `header` and to the tensor's values until it is closed.
absl::Status AddMember(zip_t* archive, const NamedTensor& tensor, std::string* header) {
  RETURN_IF_ERROR(CheckShape(tensor));
  *header = NpyPreamble(tensor.shape);
  zip_buffer_fragment_t fragments[2] = {};
  fragments[0].data = reinterpret_cast<zip_uint8_t*>(header->data());
  fragments[0].length = header->size();
  // libzip only reads it.
  fragments[1].data = reinterpret_cast<zip_uint8_t*>(const_cast<float*>(tensor.values.data()));
  fragments[1].length = tensor.values.size() * sizeof(float);
  const zip_uint64_t count = tensor.values.empty() ? 1 : 2;
  zip_source_t* source = zip_source_buffer_fragment(archive, fragments, count, 0);
  if (source == nullptr) return absl::InternalError(zip_strerror(archive));
  const zip_int64_t index =
      zip_file_add(archive, absl::StrCat(tensor.name, ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return absl::InvalidArgumentError(absl::StrCat(Quoted(tensor.name), ": ", zip_strerror(archive)));
  }
  // The earliest time that the format knows, so that the file does not depend on when it was written.
  constexpr zip_uint16_t kFirstOfJanuary1980 = (1 << 5) | 1;
  zip_file_set_dostime(archive, index, 0, kFirstOfJanuary1980, 0);
  zip_set_file_compression(archive, index, ZIP_CM_STORE, 0);
  return absl::OkStatus();
}

absl::Status WriteError(zip_t* archive, const std::string& path) {
  const std::string message = absl::StrCat(path, ": ", zip_strerror(archive));
  const zip_error_t* error = zip_get_error(archive);
  if (zip_error_system_type(error) != ZIP_ET_SYS) return absl::UnknownError(message);
  return absl::Status(absl::ErrnoToStatusCode(zip_error_code_system(error)), message);
}

}  // namespace

absl::Status WriteNpz(absl::Span<const NamedTensor> tensors, const std::string& path) {
  int error = 0;
  Archive archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error));
  if (archive == nullptr) {
    zip_error_t text;
    zip_error_init_with_code(&text, error);
    const std::string message = absl::StrCat(path, ": ", zip_error_strerror(&text));
    zip_error_fini(&text);
    return absl::InvalidArgumentError(message);
  }
  std::list<std::string> headers;
  for (const NamedTensor& tensor : tensors) {
    headers.emplace_back();
    if (absl::Status added = AddMember(archive.get(), tensor, &headers.back()); !added.ok())
      return absl::Status(added.code(), absl::StrCat(path, ": ", added.message()));
  }
  // Writes a temporary file beside `path` and renames it.
  if (zip_close(archive.get()) != 0) return WriteError(archive.get(), path);
  static_cast<void>(archive.release());  // zip_close has freed it
  return absl::OkStatus();
}

}  // namespace lockstep
