import { testFolds } from "../../../test/helpers/folded-weights.ts";
import { useServer } from "../../../test/helpers/servers.ts";

testFolds(useServer("mysql-9.7"), [
  "utf8mb4_0900_ai_ci",
  "utf8mb4_0900_as_ci",
  "utf8mb4_0900_as_cs",
  "utf8mb4_general_ci",
  "utf8mb4_unicode_ci",
  "utf8mb4_unicode_520_ci",
  "utf8mb4_de_pb_0900_ai_ci",
  "utf8mb4_da_0900_ai_ci",
  "utf8mb4_es_trad_0900_ai_ci",
  "utf8mb4_hu_0900_ai_ci",
  "utf8mb4_tr_0900_ai_ci",
  "utf8mb4_swedish_ci",
  "utf8mb4_danish_ci",
  "utf8mb4_german2_ci",
  "utf8mb4_roman_ci",
  "utf8mb4_lithuanian_ci",
  "utf8mb4_croatian_ci",
  "latin1_swedish_ci",
  "latin1_general_ci",
  "latin1_general_cs",
  "latin1_german1_ci",
  "latin1_german2_ci",
  "latin1_danish_ci",
  "latin1_spanish_ci",
]);
