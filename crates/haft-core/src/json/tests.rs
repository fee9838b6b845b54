use super::Document;
