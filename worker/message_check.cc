#include "worker/message_check.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/quoted.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace lockstep {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status Invalid(const std::string& path, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat(path, " ", problem));
}

absl::Status CheckNumber(const std::string& path, double value) {
  return std::isfinite(value) ? absl::OkStatus()
                              : Invalid(path, absl::StrCat("is ", value, ", not a finite number"));
}

absl::Status CheckEnum(const std::string& path, const EnumDescriptor& type, int value) {
  if (type.FindValueByNumber(value) != nullptr) return absl::OkStatus();
  std::vector<std::string> names;
  // The first one is UNSPECIFIED.
  for (int i = 1; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return Invalid(path, absl::StrCat("is ", value, ", choose one of ", absl::StrJoin(names, ", ")));
}

bool IsUtf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

absl::Status CheckText(const std::string& path, const std::string& text) {
  if (!IsUtf8(text)) return Invalid(path, absl::StrCat("is ", Quoted(text), ", which is not UTF-8"));
  for (const char c : text) {
    if (c != '\t' && absl::ascii_iscntrl(static_cast<unsigned char>(c)))
      return Invalid(path, absl::StrCat("is ", Quoted(text), ", which has control characters"));
  }
  return absl::OkStatus();
}

absl::Status CheckMessage(const Message& message, const std::string& prefix);

// One value: element `index` of a repeated field, or the field itself for a negative index.
absl::Status CheckValue(const Message& message, const FieldDescriptor& field, int index,
                        const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = index >= 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      return CheckNumber(path, repeated ? reflection.GetRepeatedFloat(message, &field, index)
                                        : reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return CheckNumber(path, repeated ? reflection.GetRepeatedDouble(message, &field, index)
                                        : reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return CheckEnum(path, *field.enum_type(),
                       repeated ? reflection.GetRepeatedEnumValue(message, &field, index)
                                : reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return CheckText(path, repeated ? reflection.GetRepeatedString(message, &field, index)
                                      : reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return CheckMessage(repeated ? reflection.GetRepeatedMessage(message, &field, index)
                                   : reflection.GetMessage(message, &field),
                          absl::StrCat(path, "."));
    default:
      return absl::OkStatus();
  }
}

absl::Status CheckMessage(const Message& message, const std::string& prefix) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (!field->is_repeated()) {
      RETURN_IF_ERROR(CheckValue(message, *field, -1, path));
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i)
      RETURN_IF_ERROR(CheckValue(message, *field, i, absl::StrCat(path, "[", i, "]")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWellFormed(const Message& message) { return CheckMessage(message, ""); }

}  // namespace lockstep
