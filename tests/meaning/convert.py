"""Writes all-MiniLM-L6-v2, as its Python package brings it, in the format of llama.cpp: convert.py FOLDER OUT."""
import glob
import json
import os
import struct
import sys

import gguf
import numpy

TYPES = {"F32": numpy.float32, "F16": numpy.float16}


def model_folder():
    """Where the package put its files."""
    found = glob.glob(os.path.join(sys.argv[1], "**", "model.safetensors"), recursive=True)
    if not found:
        sys.exit("the package brought no model.safetensors")
    return os.path.dirname(found[0])


def tensors(path):
    """Names and values of a safetensors file."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        for name, about in header.items():
            if name == "__metadata__" or about["dtype"] not in TYPES:
                continue
            begin, end = about["data_offsets"]
            file.seek(8 + size + begin)
            yield name, numpy.frombuffer(file.read(end - begin), TYPES[about["dtype"]]).reshape(about["shape"])


def add_words(writer, path):
    """The vocabulary: whole words get a mark that they begin one, pieces lose theirs."""
    with open(path, encoding="utf-8") as file:
        words = [line.rstrip("\n") for line in file]
    texts, kinds = [], []
    for word in words:
        special = word.startswith("[") and word.endswith("]")
        texts.append(word if special else word[2:] if word.startswith("##") else "\u2581" + word)
        unused = word.startswith("[unused")
        kinds.append(gguf.TokenType.UNUSED if unused else gguf.TokenType.CONTROL if special else gguf.TokenType.NORMAL)
    place = words.index
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text.encode() for text in texts])
    writer.add_token_types(kinds)
    writer.add_token_type_count(2)
    writer.add_bos_token_id(place("[CLS]"))
    writer.add_eos_token_id(place("[SEP]"))
    writer.add_sep_token_id(place("[SEP]"))
    writer.add_unk_token_id(place("[UNK]"))
    writer.add_pad_token_id(place("[PAD]"))
    writer.add_mask_token_id(place("[MASK]"))
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)


def main():
    folder = model_folder()
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    blocks = config["num_hidden_layers"]
    writer = gguf.GGUFWriter(sys.argv[2], "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(512)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(blocks)
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    add_words(writer, os.path.join(folder, "vocab.txt"))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, blocks)
    for name, value in tensors(os.path.join(folder, "model.safetensors")):
        if "position_ids" in name or "pooler" in name:
            continue
        known = next((found for found in (names.get_name(one, (".weight", ".bias")) for one in (name, "bert." + name)) if found), None)
        if known is None:
            continue
        small = value.ndim == 2 and "token_types" not in known and "position" not in known
        writer.add_tensor(known, value.astype(numpy.float16 if small else numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
