#include "base/file_utilities.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

// Whether there is a file or directory `path`.
absl::StatusOr<bool> Exists(FileSystem* files, const std::string& path) {
  const absl::Status status = files->GetKind(path).status();
  if (absl::IsNotFound(status)) return false;
  RETURN_IF_ERROR(status);
  return true;
}

}  // namespace

absl::Status CreateDirectories(FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(const bool exists, Exists(files, path));
  // Also called for what exists: a file of that name is an error then.
  if (exists) return files->CreateDirectory(path);
  const std::string parent = ParentDirectory(path);
  RETURN_IF_ERROR(CreateDirectories(files, parent));
  RETURN_IF_ERROR(files->CreateDirectory(path));
  return files->SyncDirectory(parent);
}

absl::Status RemoveRecursively(FileSystem* files, const std::string& path) {
  const absl::StatusOr<FileSystem::Kind> kind = files->GetKind(path);
  if (absl::IsNotFound(kind.status())) return absl::OkStatus();
  RETURN_IF_ERROR(kind.status());
  if (*kind == FileSystem::Kind::kFile) return files->RemoveFile(path);
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files->ListDirectory(path));
  for (const std::string& name : names) {
    RETURN_IF_ERROR(RemoveRecursively(files, absl::StrCat(path, "/", name)));
  }
  return files->RemoveEmptyDirectory(path);
}

absl::StatusOr<std::string> ReadWholeFile(FileSystem* files, const std::string& path, int64_t most_bytes) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files->OpenFile(path));
  if (file->size() > most_bytes) {
    return absl::OutOfRangeError(
        absl::StrCat(path, " has ", file->size(), " bytes, more than the limit of ", most_bytes));
  }
  std::string contents(static_cast<size_t>(file->size()), '\0');
  RETURN_IF_ERROR(file->Read(0, absl::MakeSpan(&contents[0], contents.size())));
  return contents;
}

absl::Status WriteWholeFile(FileSystem* files, const std::string& path, absl::string_view contents) {
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files->CreateFile(path));
  RETURN_IF_ERROR(file->Append(contents));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

absl::Status ReplaceFile(FileSystem* files, const std::string& path, absl::string_view contents) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  absl::Status status = WriteWholeFile(files, temporary, contents);
  if (status.ok()) status = files->Rename(temporary, path);
  if (!status.ok()) {
    // Best effort: the first error is the one to report.
    files->RemoveFile(temporary).IgnoreError();
    return status;
  }
  return files->SyncDirectory(ParentDirectory(path));
}

std::string ParentDirectory(absl::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

}  // namespace lockstep
