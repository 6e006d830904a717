// Fills and checks the keys of [data].
#include <array>
#include <utility>

#include "engine/config/bert_family.h"
#include "engine/config/resolve_sections.h"
#include "engine/config/text_formats.h"
#include "engine/tokenizer/tokenizer.h"

namespace ds {
namespace {

bool has_tokenizer(const std::string& folder) {
  return !folder.empty() && Tokenizer::exists(folder);
}

void resolve_tokenizer(TrainConfig& config, const GivenKeys& given) {
  DataConfig& data = config.data;
  if (!given.places.contains("data.tokenizer")) {
    data.tokenizer = "none";
    if (has_texts(data))
      data.tokenizer = has_tokenizer(config.model.from) ? config.model.from : "bytes";
  }
  if (has_texts(data) && data.tokenizer == "none") {
    throw given.error(
        {"data.tokenizer"}, "data.tokenizer = \"none\" does not apply to text",
        "leave it out, or set data.format = \"samples\" or \"tokens\" for token numbers");
  }
}

DataTask task_of_model(const std::string& arch) {
  if (bert_family(arch) != nullptr) return DataTask::masked;
  return arch == "t5" ? DataTask::pairs : DataTask::text;
}

void resolve_task(TrainConfig& config, const GivenKeys& given) {
  DataConfig& data = config.data;
  const auto is_given = [&](const char* key) { return given.places.contains(key); };
  const DataTask own = task_of_model(config.model.arch);
  if (!is_given("data.task")) data.task = own;
  const bool has_family =
      own != DataTask::text || data.task == DataTask::masked || reads_two_texts(data.task);
  const bool is_learned =
      data.task == own || (own == DataTask::pairs && data.task == DataTask::spans);
  if (has_family && !is_learned)
    throw given.error({"data.task", "model.arch"},
                      fmt::format("arch = \"{}\" does not learn this data.task", config.model.arch),
                      "leave data.task out; BERT and RoBERTa learn \"masked\", T5 \"pairs\" and "
                      "\"spans\", the others \"text\", \"response\", or \"chat\"");
  if (!is_given("data.rows"))
    data.rows = data.task == DataTask::text ? RowKind::cut : RowKind::whole;
  const bool is_stream =
      data.task == DataTask::text || data.task == DataTask::masked || data.task == DataTask::spans;
  if (!is_given("data.long")) data.longs = is_stream ? LongDocuments::split : LongDocuments::cut;
}

/// Checks the keys that only apply with others.
void check_rows(const DataConfig& data, const GivenKeys& given) {
  if (data.rows == RowKind::cut && (data.task == DataTask::masked || reads_two_texts(data.task)))
    throw given.error({"data.rows"}, "data.rows = \"cut\" does not apply to this data.task",
                      "leave data.rows out: its rows are whole documents");
  if (data.rows == RowKind::whole && data.join)
    throw given.error({"data.join"}, "data.join does not apply to rows of whole documents",
                      "leave it out, or set data.rows = \"cut\"");
  if (data.longs == LongDocuments::split && data.task == DataTask::pairs)
    throw given.error({"data.long"}, "data.long = \"split\" does not apply to pairs",
                      "use \"cut\" or \"drop\"");
  const bool needs_files = data.format != "samples" && data.task == DataTask::masked;
  if (needs_files && (data.tokenizer == "none" || data.tokenizer == "bytes"))
    throw given.error({"data.tokenizer", "data.format", "data.train"},
                      "data.task = \"masked\" needs a tokenizer with a mask token",
                      "set data.tokenizer to a Hugging Face folder, or use data.format = "
                      "\"samples\" with the fields tokens and targets");
  if (data.task == DataTask::spans && data.format == "samples")
    throw given.error({"data.task", "data.format"},
                      "data.task = \"spans\" does not apply to data.format = \"samples\"",
                      "leave data.task out: samples have the texts of encoder and decoder");
  if (data.task == DataTask::spans && (data.tokenizer == "none" || data.tokenizer == "bytes"))
    throw given.error({"data.tokenizer", "data.task"},
                      "data.task = \"spans\" needs a tokenizer with the tokens <extra_id_0>, ...",
                      "set data.tokenizer to a Hugging Face folder, such as one that dslaunch data "
                      "train-tokenizer --kind t5 makes");
  if (data.task == DataTask::chat && has_named_texts(data) && data.tokenizer == "bytes")
    throw given.error({"data.tokenizer", "data.task"},
                      "data.task = \"chat\" needs a tokenizer with the template's tokens",
                      "set data.tokenizer to a Hugging Face folder");
}

void resolve_fields(DataConfig& data, const GivenKeys& given) {
  if (data.format == "text" && (data.task == DataTask::response || data.task == DataTask::chat ||
                                data.task == DataTask::pairs))
    throw given.error({"data.format", "data.task", "data.train"},
                      "data.format = \"text\" has one text in a file, this data.task reads more",
                      "use data.format = \"jsonl\", \"parquet\" or \"samples\" (docs/data.md)");
  if (!has_named_texts(data)) {
    if (!data.json_fields.empty())
      throw given.error({"data.fields"},
                        "data.fields applies to data.format = \"jsonl\" and \"parquet\" alone",
                        "leave it out");
    return;
  }
  const std::array<std::vector<std::string>, 6> usual{
      {{"text"}, {"prompt", "response"}, {"messages"}, {"text"}, {"source", "target"}, {"text"}}};
  const std::vector<std::string>& names = usual[static_cast<std::size_t>(data.task)];
  if (data.json_fields.empty()) data.json_fields = names;
  if (data.json_fields.size() == names.size()) return;
  throw given.error({"data.fields"},
                    fmt::format("data.fields names {} fields, this data.task reads {}",
                                data.json_fields.size(), names.size()),
                    fmt::format("write for example [\"{}\"]", fmt::join(names, "\", \"")));
}

/// Refuses the texts of an own chat template beside another one, which would count.
void check_chat(const DataConfig& data, const GivenKeys& given) {
  if (data.chat_template == "own") return;
  for (const auto& [key, text] : {std::pair{"data.chat_begin", &data.chat_begin},
                                  std::pair{"data.chat_system", &data.chat_system},
                                  std::pair{"data.chat_user", &data.chat_user},
                                  std::pair{"data.chat_assistant", &data.chat_assistant}}) {
    if (text->empty()) continue;
    throw given.error(
        {key},
        fmt::format("{} has no effect with data.chat_template = \"{}\"", key, data.chat_template),
        "set data.chat_template = \"own\", or leave it out");
  }
}

void check_weights(const DataConfig& data, const GivenKeys& given) {
  if (data.weights.empty() || data.weights.size() == data.train.size()) return;
  throw given.error({"data.weights"},
                    fmt::format("data.weights has {} numbers, data.train {} patterns",
                                data.weights.size(), data.train.size()),
                    "write one weight for each pattern");
}

}  // namespace

void resolve_data(TrainConfig& config, const GivenKeys& given) {
  DataConfig& data = config.data;
  if (data.train.empty())
    throw given.error({}, "missing key data.train",
                      "write train = [\"my_text/*.txt\"] under [data]");
  if (data.seq_len == 0)
    throw given.error({}, "missing key data.seq_len", "write seq_len = 256 under [data]");
  resolve_tokenizer(config, given);
  resolve_task(config, given);
  check_weights(data, given);
  check_chat(data, given);
  resolve_fields(data, given);
  check_rows(data, given);
  // Also where the files are not opened, such as by dslaunch plan.
  const bool has_documents = data.format != "samples" && !is_byte_stream(data) && !data.join;
  data.fields.documents = has_documents;
  data.fields.encoder_documents = has_documents && reads_two_texts(data.task);
}

}  // namespace ds
