#include "worker/npy_writer.h"

#include "absl/strings/str_cat.h"
#include "base/file_utilities.h"
#include "base/status_macros.h"
#include "base/writable_file.h"
#include "worker/npy_preamble.h"

namespace lockstep {
NpyWriter::NpyWriter(FileSystem* files, const std::string& path, int64_t bytes)
    : files_(files), path_(path), temporary_path_(absl::StrCat(path, ".tmp")), bytes_left_(bytes) {}

absl::StatusOr<std::unique_ptr<NpyWriter>> NpyWriter::Create(FileSystem* files, const std::string& path,
                                                             const std::vector<int64_t>& shape) {
  int64_t bytes = sizeof(float);
  for (const int64_t size : shape) bytes *= size;
  auto writer = std::unique_ptr<NpyWriter>(new NpyWriter(files, path, bytes));
  RETURN_IF_ERROR(CreateDirectories(files, ParentDirectory(path)));
  ASSIGN_OR_RETURN(writer->file_, files->CreateFile(writer->temporary_path_));
  RETURN_IF_ERROR(writer->file_->Append(NpyPreamble(shape)));
  return writer;
}

NpyWriter::~NpyWriter() {
  if (finished_ || file_ == nullptr) return;
  file_.reset();
  files_->RemoveFile(temporary_path_).IgnoreError();
}

absl::Status NpyWriter::Append(absl::string_view bytes) {
  bytes_left_ -= static_cast<int64_t>(bytes.size());
  return file_->Append(bytes);
}

absl::Status NpyWriter::Finish() {
  if (bytes_left_ != 0)
    return absl::InternalError(absl::StrCat(path_, ": ", bytes_left_, " bytes are missing"));
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(file_->Close());
  RETURN_IF_ERROR(files_->Rename(temporary_path_, path_));
  finished_ = true;
  return files_->SyncDirectory(ParentDirectory(path_));
}

}  // namespace lockstep
